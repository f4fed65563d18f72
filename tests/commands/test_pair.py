"""pair: a query never sits in its own document, and splits do not leak."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit import pair
from structkit.errors import UserError
from structkit.pairs.splits import add_split, drop_repeated, parse_split
from structkit.registry import load

docstring = load("language", "python")().docstring


# code, and what is left of it without the docstring
CUT = {
    'def f():\n    """Doc."""\n    return 1\n': "def f():\n    return 1\n",
    "def f(): 'Doc.'; return 1": "def f(): return 1",
    'def f():\n    r"""Doc\n    more."""\n\n    return 1': "def f():\n\n    return 1",
    'async def f():\n    "Doc."  # why\n    x': "async def f():\n      # why\n    x",
    '@wrap\n@two(2)\ndef f():\n    """Doc."""\n    y': "@wrap\n@two(2)\ndef f():\n    y",
    '# note\ndef f():\n    # 1\n    """Doc."""\n    y': "# note\ndef f():\n    # 1\n    y",
    'def f():\n    "a" "b"\n    return 1': "def f():\n    return 1",
    'class A:\n    """Doc."""\n    x = 1': "class A:\n    x = 1",
    'def é():\n    """Größe."""\n    return "é"': 'def é():\n    return "é"',
    'def f():\n    """D."""\n    def g():\n        "In."': 'def f():\n    def g():\n        "In."',
    "def f():\n    return 'Doc.'": "def f():\n    return 'Doc.'",
    "def f():\n    x = 1\n    'none'": "def f():\n    x = 1\n    'none'",
    "x = 1": "x = 1",
}


@pytest.mark.parametrize("code", CUT)
def test_docstring_is_cut(code):
    record = {"id": "1", "language": "python", "docstring": "Doc.", "code": code}
    [made] = pair([record])
    assert {**record, "query": "Doc.", "positive": CUT[code]} == made


def test_masked_before_paired_is_refused():
    code = 'def f():\n    """Doc."""\n    return 1'
    record = {"id": "1", "language": "python", "docstring": "Doc.", "code": code, "masked": "x"}
    with pytest.raises(UserError, match="run pair before mask-entities"):
        list(pair([record]))


def test_a_list_field_yields_one_item_by_seed_and_id():
    records = [{"id": str(n), "bullets": ["a", "b", "c"], "description": "d"} for n in range(50)]
    options = {"query": "bullets", "positive": "description"}
    queries = [made["query"] for made in pair(records, **options)]
    assert {"a", "b", "c"} == set(queries)
    assert queries == [made["query"] for made in pair(reversed(records), **options)][::-1]
    assert queries != [made["query"] for made in pair(records, **options, seed=1)]
    lines = [{**record, "bullets": "a\nb\nc"} for record in records]
    assert queries == [made["query"] for made in pair(lines, **options)]


def test_repeated_queries_and_documents_are_dropped(capsys):
    pairs = [("q1", "d1"), ("q1", "d2"), ("q2", "d1"), ("q2 ", "d3"), (" q3", "d4"), ("q2", "d5")]
    records = [{"query": query, "positive": positive} for query, positive in pairs]
    assert [record["positive"] for record in drop_repeated(records)] == ["d1", "d3", "d4"]
    assert "3 records dropped" in capsys.readouterr().err


@given(st.lists(st.tuples(*[st.integers(0, 20)] * 3), max_size=80), st.randoms())
def test_the_order_of_the_input_decides_nothing(examples, random):
    records = [
        {"id": str(number), "query": f"q{query}", "positive": f"d{document}", "path": path}
        for number, (query, document, path) in enumerate(examples)
    ]
    splits = [("train", 0.5), ("dev", 0.5)]
    by_path = partial(add_split, splits=splits, by="path")
    other = random.sample(records, len(records))
    for part in (drop_repeated, partial(add_split, splits=splits), by_path):
        made = list(part(records))
        assert made == sorted(part(other), key=lambda each: int(each["id"]))
        for field in ("query", "positive", *["path"] * (part is by_path)):
            homes = {}
            for record in made:
                home = record.get("split", record["id"])
                assert homes.setdefault(record[field], home) == home


def test_a_group_has_one_split_whatever_else_there_is(capsys):
    records = [
        {"id": str(n), "docstring": f"q{n}", "code": f"d{n}", "meta": {"path": n // 9}}
        for n in range(900)
    ]
    options = {"split": "train:0.7,test:0.3", "split_by": "meta.path"}
    made = list(pair(records, **options))
    homes = {(record["meta"]["path"], record["split"]) for record in made}
    assert (900, 100) == (len(made), len(homes))
    assert 20 <= sum(home == "test" for _, home in homes) <= 40
    assert made[:9] == list(pair(records[:9], **options))
    with pytest.raises(UserError, match='^records:2: field "path" is missing'):
        list(pair([{**records[0], "path": "a"}, records[1]], split="a:1", split_by="path"))


def test_split_shares():
    records = [{"id": str(n), "query": f"q{n}", "positive": f"d{n}"} for n in range(2000)]
    made = [record["split"] for record in add_split(records, parse_split("train:0.9,dev:0.1"))]
    assert 150 <= made.count("dev") <= 250
    reversed_ = [r["split"] for r in add_split(records[::-1], parse_split("train:0.9,dev:0.1"))]
    assert made == reversed_[::-1]


@pytest.mark.parametrize(
    "text",
    [
        *("", "train", "train:x", "train:0.5", "a:1.5,b:-0.5", ":1", " :1", "a:nan", "a:inf"),
        *("a:0.5,a:0.5", "a:nan,b:1", "a:1,"),
    ],
)
def test_wrong_splits_are_wrong_usage(text):
    with pytest.raises(UserError) as error:
        parse_split(text)
    assert error.value.status == 2


def test_workers_write_the_same(here):
    lines = b"".join(
        b'{"id":"%d","docstring":"Adds %d.","code":"def f(a):\\n  return a + %d"}\n'
        % (n, n % 5000, n % 5000)
        for n in range(8000)
    )
    for flags in ([], ["--dedupe"], ["--dedupe", "--split", "train:0.5,test:0.5"]):
        expected = here("pair", *flags, input=lines)
        found = here("pair", *flags, "--workers", "2", input=lines)
        assert 0 == expected.returncode and expected.stdout.count(b"\n") >= 5000
        assert (expected.stdout, expected.stderr) == (found.stdout, found.stderr)


def test_quiet_keeps_counts_off_stderr(here):
    lines = b'{"id":"1","docstring":"Adds.","code":"x = 1"}\n' * 2 + b"{}\n"
    flags = ["pair", "--dedupe", "--on-error", "skip"]
    loud, quiet = here(*flags, input=lines), here(*flags, "-q", input=lines)
    assert b"1 record rejected" in loud.stderr and b"1 records dropped" in loud.stderr
    assert (loud.stdout, b"") == (quiet.stdout, quiet.stderr)
