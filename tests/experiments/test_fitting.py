"""Weights of rankers that are fitted to judged queries: what they find, held out and in all."""

import json

import numpy as np
import orjson
import pytest

from experiments.fitting import fit, main
from structkit import rerank, score
from structkit.errors import UserError
from structkit.ranking.reranking import Candidates, Weights, choose
from structkit.scoring.runs import read_run
from tests.jsonl import write

# of each query, the last hit of the search is right: its path has the query's word
WORDS = ["alpha", "bravo", "delta", "gamma"]
PATHS = [{"id": word, "path": f"{word}.py", "code": "x"} for word in WORDS]
PATHS += [{"id": f"{word} test", "path": f"test_{word}.py", "code": "x"} for word in WORDS]
ASKED = [{"id": f"q{word}", "query": f"the {word}", "half": word < "c"} for word in WORDS]
RUN = [
    {"query_id": query["id"], "doc_id": record["id"], "score": -place}
    for query in ASKED
    for place, record in enumerate(sorted(PATHS, key=lambda each: each["id"][::-1]))
]


def relevant(answers):
    return [{"query_id": query, "doc_id": doc, "relevance": 1} for query, doc in answers.items()]


RIGHT = relevant({f"q{word}": f"{word}.py" for word in WORDS})


@pytest.fixture
def fitted(tmp_path):
    """What `fit` finds for records, and the flags of `rerank` with these weights."""

    def fitted(weights, qrels, run=RUN, corpus=PATHS, **options):
        files = {"run": run, "corpus": corpus, "queries": ASKED, "qrels": qrels}
        paths = {name: str(write(tmp_path / name, *rows)) for name, rows in files.items()}
        candidates = Candidates.read(read_run(paths["run"]), [paths["corpus"]], [paths["queries"]])
        return fit(candidates, weights, qrels=paths["qrels"], **options)

    return fitted


def flags(found):
    return [f"{name}={weight}" for name, weight in found["rankers"].items()]


@pytest.mark.parametrize("field", ["path", "doc_id"])
def test_fitted_weights_find_what_the_judgements_say(fitted, field):
    corpus, qrels = PATHS, RIGHT
    if field == "doc_id":  # passages of a document, judged by it
        corpus = [{**each, "doc_id": f"x/{each['path']}"} for each in PATHS]
        qrels = relevant({f"q{word}": f"x/{word}.py" for word in WORDS})
    weights = choose(None, ["path-words", "path-kinds", "name-words"])
    found = fitted(weights, qrels, corpus=corpus, folds="half")
    assert found["rankers"]["path-words"] > 0 < found["rankers"]["path-kinds"]
    assert 4 == found["queries"]
    assert 1.0 == found["nDCG@10"]["fitted"] == found["nDCG@10"]["cross_validated"]
    assert 1.0 > found["nDCG@10"]["search"]
    assert {"true": 1.0, "false": 1.0} == found["folds"]
    run = rerank(runs=RUN, corpus=corpus, queries=ASKED, ranker=flags(found), k=1)
    expected = [(f"q{word}", word) for word in WORDS]
    assert expected == [(row["query_id"], row["doc_id"]) for row in run]


def test_the_run_of_held_out_queries_has_weights_of_the_others(tmp_path, fitted):
    # words of paths answer the first half of the queries, and mislead in the second
    right = {"qalpha": "alpha", "qbravo": "bravo", "qdelta": "gamma test", "qgamma": "delta test"}
    held_out = tmp_path / "held-out.jsonl"
    weights = choose(None, ["path-words"])
    found = fitted(weights, relevant(right), folds="half", held_out=str(held_out), k=10)
    gains = {"true": [], "false": []}
    for row in map(orjson.loads, held_out.read_bytes().splitlines()):
        if right[row["query_id"]] == row["doc_id"]:
            gains[str(row["query_id"] < "qc").lower()].append(1 / np.log2(row["rank"] + 1))
    assert found["folds"] == {half: pytest.approx(np.mean(each)) for half, each in gains.items()}
    assert found["folds"]["true"] < 1.0  # of the others it learned to leave paths unread


@pytest.mark.parametrize("repeats", [1.0, 0.5])
def test_a_fit_judges_lines_as_score_does(tmp_path, fitted, repeats):
    # two passages of each file; the first is the one whose path has the query's word by chance,
    # and the judged lines are in the second, or in both, or are judged twice
    corpus = [
        {"id": f"{word} {part}", "doc_id": f"{word}.py", "path": path, "lines": lines}
        for word in WORDS
        for part, path, lines in ((1, f"{word}.py", [1, 9]), (2, "x.py", [10, 19]))
    ]
    spans = {"alpha": [(12, 14)], "bravo": [(9, 10)], "delta": [(1, 2), (3, 4), (18, 30)]}
    rows = [
        {"query_id": f"q{word}", "doc_id": f"{word}.py", "relevance": 1}
        | {"start_line": first, "end_line": last}
        for word in WORDS
        for first, last in spans.get(word, [(19, 19)])
    ]
    run = [
        {"query_id": f"q{word}", "doc_id": record["id"], "score": -(place // 2)}  # ties
        for word in WORDS
        for place, record in enumerate(corpus)
    ]
    held_out, weights = str(tmp_path / "held-out.jsonl"), Weights({"path-words": None}, repeats)
    options = {"run": run, "corpus": corpus, "folds": "half", "held_out": held_out}
    found = fitted(weights, rows, **options)
    runs = {"held out": held_out}
    if repeats == 1.0:  # another one is only of a preset
        runs["fitted"] = list(rerank(runs=run, corpus=corpus, queries=ASKED, ranker=flags(found)))
    scored = score(
        runs,
        qrels=rows,
        measures=["nDCG@10"],
        gains="binary",
        by="half",
        queries=ASKED,
        mean=True,
        passages=corpus,
    )
    expected = {record["run"]: pytest.approx(record["nDCG@10"]) for record in scored}
    told = found["nDCG@10"]
    assert told["fitted"] == expected.get("fitted", told["fitted"])
    assert told["cross_validated"] == expected["held out"]
    assert 0 < told["fitted"] < 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"folds": "x"}, 'query "qalpha" has no field x'),
        ({"qrels": relevant({"x": "y"})}, "judges no query of the run"),
    ],
)
def test_what_cannot_be_fitted(fitted, options, problem):
    with pytest.raises(UserError, match=problem):
        fitted(choose(None, ["path-kinds"]), **{"qrels": RIGHT, **options})


def test_the_command_writes_the_weights(tmp_path):
    files = {"run": RUN, "corpus": PATHS, "queries": ASKED, "qrels": RIGHT}
    paths = {name: str(write(tmp_path / name, *rows)) for name, rows in files.items()}
    line = [paths["run"], "--ranker", "path-words", "--folds", "half"]
    line += [word for name in list(files)[1:] for word in (f"--{name}", paths[name])]
    main([*line, "-o", str(tmp_path / "weights.json")])
    assert {"path-words"} == json.loads((tmp_path / "weights.json").read_text())["rankers"].keys()
