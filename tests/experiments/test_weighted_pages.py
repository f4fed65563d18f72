"""Sums of runs whose weights other questions chose."""

from pathlib import Path

import orjson

from experiments.pages import FOLDS, fit
from experiments.repositories import read
from tests.jsonl import write


def run(path, found):
    hits = [
        {"query_id": query, "doc_id": name, "score": score}
        for query, scores in found.items()
        for name, score in scores.items()
    ]
    return write(path, *hits)


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
