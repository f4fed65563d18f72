"""mask-entities: replaced byte for byte, and never where the language has no name."""

import io
import keyword
import tokenize
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit import mask_entities, parse_trees
from structkit.errors import UserError
from structkit.records.jsonl import Records
from structkit.registry import load
from structkit.structure.sentinels import SENTINEL, random_spans, target
from tests.sentinels import unmask

REAL = Path("../shared/data/codesearch").glob("train.jsonl.gz")


def masked(code, **options):
    [record] = mask_entities([{"id": "1", "language": "python", "code": code}], **options)
    return record


def test_at_most_99_entities_and_a_closing_sentinel():
    code = " + ".join(f"v{number}" for number in range(120))
    record = masked(code)
    assert len(record["entities"]) == 99
    assert record["masked"].endswith(
        "<extra_id_98> + v99 + v100 + " + " + ".join(f"v{number}" for number in range(101, 120))
    )
    assert record["target"].endswith("<extra_id_98> v98 <extra_id_99>")


@pytest.mark.parametrize(("ratio", "count"), [(0.1, 1), (0.25, 3), (0.5, 5), (1.0, 10), (0.0, 1)])
def test_mask_ratio_is_a_share_of_distinct_entities(ratio, count):
    code = " + ".join(f"v{number} + v{number}" for number in range(10))
    assert len(masked(code, mask_ratio=ratio)["entities"]) == count


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"code": "1 + 1", "language": "python"}, "holds no entity"),
        ({"code": "x = '<extra_id_3>'", "language": "python"}, "sentinel <extra_id_3>"),
        ({"code": "x"}, 'field "language" is missing; name it with language'),
        ({"code": "x", "language": "cobol"}, "unknown language 'cobol'"),
        ({"language": "python"}, 'field "code" is missing'),
        ({"code": "x", "language": None}, 'field "language" is a JSON null'),
    ],
)
def test_rejected(record, reason):
    with pytest.raises(UserError) as error:
        list(mask_entities([{"id": "1", **record}]))
    assert reason in str(error.value)


def test_span_strategy_masks_the_share_and_can_be_undone():
    code = " ".join(f"w{number}" for number in range(200))
    record = masked(code, strategy="span")
    hidden = sum(len(entity.split()) for entity in record["entities"])
    assert hidden == 30  # 15 % of 200
    assert len(record["entities"]) == 10  # of mean length 3
    assert unmask(record["masked"], record["entities"]) == code


def test_a_text_without_entities_may_pass_as_it_is():
    for code, strategy in (("1 + 1", "entity"), ("", "span")):
        assert "<extra_id_0>" == masked(code, keep_plain=True, strategy=strategy)["target"]


@given(st.text(alphabet="ab =()'\"#\n\\{}f:é\U0001f600", max_size=60), st.integers(0, 3))
def test_unmask_undoes_mask_whatever_the_code(code, seed):
    for options in ({}, {"strategy": "span"}, {"mask_ratio": 0.5, "seed": seed}):
        try:
            record = masked(code, **options)
        except UserError as error:
            assert "no entity" in str(error)
            continue
        assert unmask(record["masked"], record["entities"]) == code
        assert record["target"] == target(record["entities"])
        used = [int(match[1]) for match in SENTINEL.finditer(record["masked"])]
        assert list(dict.fromkeys(used)) == list(range(len(record["entities"])))


@given(st.integers(0, 300), st.floats(0.01, 1.0), st.randoms(use_true_random=False))
def test_random_spans_never_touch_and_never_exceed_the_sentinels(count, ratio, rng):
    text = " ".join("w" for _ in range(count))
    spans = random_spans(text, ratio, rng)
    assert len(spans) <= 99
    assert all(end < start for (_, end), (start, _) in zip(spans, spans[1:], strict=False))


def test_names_are_those_of_the_standard_tokenizer_on_real_functions():
    entities = load("language", "python")().names
    compared = 0
    for row in islice(_functions(), 1000):
        code = row["code"]
        record = masked(code)
        assert unmask(record["masked"], record["entities"]) == code
        found = [code[start:end] for start, end in entities(code)]
        assert found == [name for name in _names(code, set(found)) if name], row["id"]
        compared += 1
    assert compared > 300


def _functions():
    """Python functions of our own, and where there are, those of the data beside structkit."""
    for path in [*sorted(Path("fixtures/code").glob("*.jsonl")), *REAL]:
        for row in Records.read([str(path)]):
            if row["language"] == "python" and row["code"].isascii():
                yield row


FSTRING = {"FSTRING_START": 1, "FSTRING_END": -1}


def _names(code, found):
    """The standard tokenizer's names; soft keywords only where they are names somewhere."""
    depth = 0  # of f-strings: one token until Python 3.11, their parts from then on
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        depth += FSTRING.get(tokenize.tok_name[token.type], 0)
        if depth == 0 and token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            if token.string not in keyword.softkwlist or token.string in found:
                yield token.string


@pytest.mark.parametrize(
    ("name", "language"),
    [("PY", "python"), ("js", "javascript"), ("C++", "cpp"), ("c#", "csharp"), ("Java", "java")],
)
def test_a_language_has_other_names(name, language):
    code = "int f(int x) { return x; }"
    [wanted] = mask_entities([{"id": "1", "language": language, "code": code}])
    [found] = mask_entities([{"id": "1", "language": name, "code": code}])
    assert found == {**wanted, "language": name}  # it is passed through as it stands
    [flagged] = mask_entities([{"id": "1", "code": code}], language=name)
    assert flagged["masked"] == wanted["masked"]
    tree = {"parser": "ast", "language": name}
    assert list(parse_trees([{"id": "1", "code": code}], **tree))[0]["tree"]


def test_html_and_products_need_no_language():
    html = {"html": "<h1>Tea</h1><p>green tea", "query": "tea"}
    product = {"title": "Green Tea", "description": "A tea."}
    made = list(mask_entities([{"id": "1", **html}, {"id": "2", **product}]))
    assert [each["entities"] for each in made] == [["Tea", "tea"], ["tea"]]
    assert "language" not in made[0]
    with pytest.raises(UserError, match="name it with language"):
        list(mask_entities([{"id": "1", "code": "x", **product}]))
    with pytest.raises(UserError, match='field "language" is a JSON number, not a string'):
        list(mask_entities([{"id": "1", "language": 3, **html}]))
