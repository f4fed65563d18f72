"""BM25: the formula worked by hand, words, fields, ties, and bad input."""

import math
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from bm25s.stopwords import STOPWORDS_EN

from structkit.errors import UserError
from structkit.records.jsonl import Record
from structkit.searching.bm25 import BM25
from structkit.searching.words import STOPWORDS, words
from tests.searching.index_runs import found as run_of

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, *records: Record) -> str:
        path = tmp_path / name
        path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
        return str(path)

    return write


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Parse the Größe", ["parse", "größe"]),
        ("self.maxSize2", ["self", "maxsize2", "max", "size2"]),
        ("XMLHttpRequest", ["xmlhttprequest", "xml", "http", "request"]),
        ("__init__ MAX_LEN", ["__init__", "max_len", "max", "len"]),
        ("a-b, c", ["b", "c"]),
        ("_", ["_"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert expected == words(text)


def test_stopwords_are_those_of_bm25s() -> None:
    assert set(STOPWORDS_EN) == STOPWORDS


def test_stopwords_can_stay() -> None:
    assert ["parse", "the", "file"] == words("Parse the file", stopwords=False)


def test_the_score_is_lucenes_formula() -> None:
    index = BM25(["1", "2", "3"], ["red red blue", "blue green", "green"], k1=1.2, b=0.5)
    # red: in 1 of 3 documents, twice in one of 3 words where the mean is 2
    idf = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    expected = idf * 2 / (2 + 1.2 * (1 - 0.5 + 0.5 * 3 / 2))
    assert [("1", pytest.approx(expected))] == index.search("red", 10)


def test_equal_scores_are_ordered_by_descending_id_also_at_the_cut() -> None:
    ids = ["b", "d", "a", "c"]
    index = BM25([*ids, "z"], ["same text"] * 4 + ["another one"])
    assert ["d", "c", "b", "a"] == [doc_id for doc_id, _ in index.search("same", 9)]
    assert ["d", "c"] == [doc_id for doc_id, _ in index.search("same", 2)]


@pytest.mark.parametrize("query", ["absent", "", "the"])
def test_a_query_without_a_known_word_finds_nothing(query: str) -> None:
    assert [] == BM25(["1"], ["some text of the corpus"]).search(query, 5)


def test_an_empty_document_is_not_found_and_does_no_harm() -> None:
    index = BM25(["1", "2"], ["", "text"])
    assert ["2"] == [doc_id for doc_id, _ in index.search("text", 5)]


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ({"id": "x", "code": "wrong", "positive": "needle"}, "needle"),
        ({"id": "x", "code": "needle", "docstring": "wrong"}, "needle"),
        ({"_id": "x", "title": "needle", "text": "and more"}, "needle"),
        ({"id": "x", "title": "wrong", "code": "needle"}, "needle"),
    ],
)
def test_the_document_field(write: Write, record: Record, text: str) -> None:
    other = {"id": "other", "code": "hay", "text": "hay", "positive": "hay"}
    queries = write("q", {"id": "q", "query": text})
    found = run_of(write("c", other, record), queries, method="bm25")
    assert ["x"] == [result["doc_id"] for result in found]


def test_named_fields_and_exclude_self(write: Write) -> None:
    path = write(
        "records",
        {"id": "1", "docstring": "sort a list", "body": "sorts list", "code": "-"},
        {"id": "2", "docstring": "list sorts", "body": "a list of many sorts", "code": "-"},
    )
    options = {"method": "bm25", "document_field": "body", "query_field": "docstring", "k": 1}
    first = [record["doc_id"] for record in run_of(path, path, **options)]
    assert ["1", "1"] == first  # the shorter body
    others = run_of(path, path, exclude_self=True, **options)
    assert [("1", "2"), ("2", "1")] == [(other["query_id"], other["doc_id"]) for other in others]


@pytest.mark.parametrize(
    ("corpus", "query", "place", "problem"),
    [
        (
            {"id": "2", "page": "x"},
            {"query": "x"},
            "c:2",
            "the record has none of the fields positive",
        ),
        ({"id": "2", "text": 1}, {"query": "x"}, "c:2", 'field "text" is a JSON number'),
        ({"id": "1", "text": "x"}, {"query": "x"}, "c:2", 'id "1" is repeated'),
        ({"id": "2", "text": "x"}, {"q": "x"}, "q:1", "the record has none of the fields query"),
        ({"id": "2", "text": "x"}, {"query": None}, "q:1", 'field "query" is a JSON null'),
    ],
)
def test_bad_records_are_refused_with_their_place(
    tmp_path: Path, write: Write, corpus: Record, query: Record, place: str, problem: str
) -> None:
    path = write("c", {"id": "1", "text": "good"}, corpus)
    with pytest.raises(UserError) as error:
        run_of(path, write("q", query), method="bm25")
    assert str(error.value).startswith(f"{tmp_path / place}: {problem}")


def test_a_corpus_without_words_is_refused(tmp_path: Path, write: Write) -> None:
    for path in (write("c"), write("c", {"id": "1", "text": "…"})):
        with pytest.raises(UserError) as error:
            run_of(path, write("q"), method="bm25")
        assert str(error.value).startswith(f"{path}: the corpus holds no words")
