"""Sums of runs whose weights other questions chose."""

from pathlib import Path

import orjson
import pytest

from experiments.pages import FOLDS, documents, fit, positives
from experiments.repositories import read
from tests.jsonl import write


def run(path, found):
    hits = [
        {"query_id": query, "doc_id": name, "score": score}
        for query, scores in found.items()
        for name, score in scores.items()
    ]
    return write(path, *hits)


@pytest.mark.parametrize(("best", "expected"), [(1, [("b", 4.0), ("a", 3.0)]),
                                                (2, [("a", 2.5), ("b", 2.0)])])  # fmt: skip
def test_a_page_has_the_mean_score_of_its_best_parts(tmp_path, best, expected):
    parts = run(tmp_path / "parts", {"q": {"a#t1r1": 3, "a#t1r2": 2, "b#t1r1": 4, "a#s": 1}})
    assert expected == [(hit["doc_id"], hit["score"]) for hit in documents(parts, best)]


@pytest.mark.parametrize(("kind", "best"), [("lead", "a#1"), ("question", "a#2")])
def test_a_question_learns_the_closest_table_of_its_page(tmp_path, kind, best):
    places = {"a#1": [3, 0], "a#2": [2, 0], "a#3": [1, 0], "b#1": [4, 0], "c#1": [0, 1]}
    sections = write(tmp_path / "s", *({"id": each, "embedding": places[each]} for each in places))
    texts = [{"id": each, "html": "<table>" if each in ("a#2", "a#3") else ""} for each in places]
    asked = write(tmp_path / "q", {"id": "q", "embedding": [1, 0]})
    files = str(sections), str(asked), str(write(tmp_path / "t", *texts))
    query = {"id": "q", "doc_id": "a", "kind": kind}
    positives(files, [query], str(tmp_path / "x.qrels"))
    assert best == read(tmp_path / "x.qrels")[0]["doc_id"]
    found = {hit["doc_id"] for hit in read(tmp_path / "x.run")}
    assert {best, "c#1"} == found


def test_held_out_questions_do_not_choose_their_weights(tmp_path):
    # only the questions of one source are answered by the second run
    sources = {"right": ["a", "b"], "wrong": ["c", "d"]}
    queries = [
        {"id": name, "doc_id": name, "kind": "question", "source": source}
        for source, names in sources.items()
        for name in names
    ]
    other = {"a": "b", "b": "a", "c": "d", "d": "c"}
    first = {name: {name: 1.0, other[name]: 2.0, "x": 0.0} for name in other}
    second = {
        name: {name: 2.0 * (name in "ab"), other[name]: 2.0 * (name in "cd"), "x": 1.0}
        for name in other
    }
    runs = [run(tmp_path / "first", first), run(tmp_path / "second", second)]
    fit(runs, queries, tmp_path / "sum.jsonl")
    weights = orjson.loads(Path(tmp_path, "sum.weights.json").read_bytes())
    assert ["first", "second"] == weights["runs"]
    assert weights["source"]["right"][1] == 0.0 < weights["source"]["wrong"][1]
    best = {hit["query_id"]: hit["doc_id"] for hit in read(tmp_path / "sum+source.jsonl")
            if hit["rank"] == 1}  # fmt: skip
    assert {"a": "b", "b": "a"}.items() <= best.items()
    assert {"documents", "source"} == FOLDS.keys()
