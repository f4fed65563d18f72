"""What a program gives: DataFrames, strings, and choices that are none."""

import pytest

import structkit
from structkit import UserError

CODE = {"id": "1", "language": "python", "code": "def add(a, b):\n    return a + b"}


def told(call):
    with pytest.raises(UserError) as caught:
        list(call())
    return str(caught.value)


class Frame:
    """What a DataFrame of pandas or polars does with its rows, and where it differs from a list."""

    def __init__(self, rows, polars=False):
        self.columns = list(rows[0])
        if polars:
            self.to_dicts = lambda: rows
        else:
            self.to_dict = lambda form: {"records": rows}[form]

    def __iter__(self):
        return iter(self.columns)

    def __eq__(self, other):
        return self

    def __bool__(self):
        raise ValueError("The truth value of a DataFrame is ambiguous.")

    __hash__ = None


@pytest.mark.parametrize("polars", [False, True])
def test_a_data_frame_is_its_rows(polars):
    def same(function, *given, **others):
        expected = list(function(*given, **others))
        frames = [Frame(each, polars) if isinstance(each, list) else each for each in given]
        framed = {
            name: Frame(each, polars) if isinstance(each, list) else each
            for name, each in others.items()
        }
        assert expected == list(function(*frames, **framed))
        assert expected
        return expected

    same(structkit.mask_entities, [CODE])
    texts = [{"id": "a", "text": "green tea"}, {"id": "b", "text": "coffee"}]
    run = same(structkit.search, texts, queries=[{"id": "q", "query": "tea"}], method="bm25")
    qrels = [{"query_id": "q", "doc_id": "a", "relevance": 1}]
    queries = [{"id": "q", "kind": "drink"}]
    same(structkit.score, run, qrels=qrels, by="kind", by_records=queries)
    same(structkit.score, {"x": Frame(run, polars)}, qrels=qrels)
    same(structkit.pair, queries=[{"id": "q", "query": "tea"}], qrels=qrels, corpus=texts)
    same(structkit.select, texts, in_=[{"id": "b"}])


def test_encode_takes_strings_as_search_does():
    records = [{"id": "1", "code": "tea"}, {"id": "2", "text": "hot water"}]
    expected = [record["embedding"] for record in structkit.encode(records, model="minilm")]
    found = list(structkit.encode(["tea", "hot water"], model="minilm"))
    assert [pytest.approx(each, abs=1e-5) for each in expected] == [e["embedding"] for e in found]
    assert ["1", "2"] == [each["id"] for each in found]
    (named,) = structkit.encode(["tea"], model="minilm", field=["title"], keep=["title"])
    assert "tea" == named["title"]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: structkit.encode("tea", model="minilm"), "records"),
        (lambda: structkit.search([{"id": "a", "text": "x"}], query="tea", method="bm25"), "query"),
    ],
)
def test_one_string_is_no_list_of_strings(call, name):
    assert f"{name} is 'tea', not a list; give ['tea']" == told(call)


def test_a_wrong_choice_is_guessed_as_its_value():
    assert told(lambda: structkit.search([], method="bm26")).startswith(
        "no method 'bm26'; did you mean 'bm25'? there are: "
    )
