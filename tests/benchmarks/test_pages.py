"""Sums of runs whose weights other questions chose."""

from pathlib import Path

import orjson
import pytest

from tests.benchmarks.pages import FOLDS, documents, fit
from tests.benchmarks.repositories import read
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
