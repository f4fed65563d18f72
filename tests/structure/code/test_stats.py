"""mask-entities --stats, and what --profile official draws."""

import json
import random

import pytest

from structkit.errors import UserError
from structkit.registry import load, names
from structkit.structure.code.statistics import Statistics, tokens

FLAGS = ("mask-entities", "--on-error", "skip", "--stats")
ROWS = [
    {"language": "python", "code": "ab = cd + ab"},  # 6 of 12 characters, 2 distinct
    {"language": "python", "code": "x"},  # 1 of 1, 1 distinct
    {"language": "python", "code": "1 + 1"},
    {"language": "product", "title": "Tea", "description": "Tea for tea"},  # 6 of 11, 2 distinct
    {"language": "product", "description": "Tea"},
    {"language": "cobol", "code": "MOVE"},
    {"language": "python", "code": " + ".join(f"v{number}" for number in range(120))},
]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def test_table_by_hand(run):
    done = run(*FLAGS, input=LINES)
    lines = done.stderr.decode().splitlines()
    v_characters = 10 * 2 + 90 * 3 + 20 * 4
    share = 100 * (7 + v_characters) / (13 + v_characters + 119 * 3)
    assert lines[1].split() == [
        *("language", "records", "rejected", "entities", "distinct", "p50", "p95"),
        *(">99", "target>35"),
    ]
    assert lines[2].split() == "cobol 0 1 - - - - - -".split()
    assert lines[3].split() == "product 1 1 54.5% 2.0 2 2 0.0% 0.0%".split()
    assert lines[4].split() == [
        *("python", "3", "1", f"{share:.1f}%", "41.0", "2", "120", "33.3%", "33.3%")
    ]
    assert lines[5].startswith("cobol: 1 rejected: no language 'cobol'")
    assert lines[6] == 'product: 1 rejected: field "title" is missing'
    assert lines[7] == "python: 1 rejected: the text holds no entity to mask"
    assert len(lines) == 8


@pytest.mark.long
def test_workers_count_the_same(run):
    text = LINES * 600  # several blocks for each worker
    one, two = (run(*FLAGS, "--workers", n, input=text) for n in ("1", "2"))
    assert one.stderr == two.stderr
    assert one.stdout == two.stdout
    assert one.stdout == run(*FLAGS[:-1], input=text).stdout
    assert b"1,800" in one.stderr


def test_no_records_no_rows(run):
    assert run(*FLAGS, input=b"").stderr.count(b"\n") == 2  # the header, and that there is nothing


def test_merged_is_whole():
    whole, first, second = Statistics(), Statistics(), Statistics()
    for part, count in ((first, 3), (second, 5)):
        for tally in (part, whole):
            tally.language("go").distinct[count] += 2
            tally.language("go").characters += count
            tally.language("go").rejected["why"] += 1
    first.merge(second)
    assert first.lines() == whole.lines()


def test_any_name_fits_into_a_line():
    tally = Statistics()
    tally.reject("word " * 20_000, UserError(f"no language '{'word ' * 20_000}'", "name one"))
    assert max(map(len, tally.lines())) < 300


@pytest.mark.parametrize(
    ("target", "count"), [("<extra_id_0>", 1), ("<extra_id_0> abcd <extra_id_1> abcde.f", 7)]
)
def test_token_estimate(target, count):
    assert tokens(target) == count


def occurrences(text):
    return text.split()


def released(language):
    return load("language", language)(profile="official")


@pytest.mark.parametrize(
    ("language", "count"), [("java", 4), ("go", 4), ("ruby", 4), ("javascript", 1)]
)
def test_official_samples_occurrences(language, count):
    # max(1, int(0.5 * 9)) = 4 and max(1, int(0.1 * 9)) = 1 of ten names that occur once
    found = [f"v{number}" for number in range(10)]
    drawn = released(language).drawn(found, random.Random(0))
    assert len(drawn) == count
    frequent = ["a"] * 99 + ["b"]
    assert "a" in released(language).drawn(frequent, random.Random(1))


def test_official_php_draws_until_half_is_covered():
    for seed in range(20):
        drawn = released("php").drawn(list("aaabcdef"), random.Random(seed))
        counts = [3 if name == "a" else 1 for name in drawn]
        assert sum(counts) >= 4
        assert sum(counts) - max(counts) < 4
    assert released("php").drawn(["a"], random.Random(0)) == set()


def test_official_python_masks_all():
    assert released("python").drawn(["a", "b"], random.Random(0)) is None


CODE = {
    "java": ('int f(Foo x) { s = "x"; return x.y; }', ["f", "x", "s", "x", "y"]),
    "go": ("func f(x Foo) int { return x.y }", ["f", "x", "x"]),
    "ruby": ("def f(x)\n  @y = x\nend", ["f", "x", "x"]),
    "javascript": ("function f(x) { return x.y }", ["f", "x", "x"]),
    "php": ("function f($x) { return $x->y; }", ["f", "x", "x", "y"]),
}


@pytest.mark.parametrize("language", sorted(set(CODE) & set(names("language"))))
def test_official_takes_exact_identifiers(language):
    code, expected = CODE[language]
    spans = released(language).entities(code, {})
    assert [code[start:end] for start, end in spans] == expected
