"""Reranking: numbers worked by hand, groups, presets, and wrong usage."""

import numpy as np
import orjson
import pytest

from structkit import rerank, score
from structkit.errors import UserError

CORPUS = [
    {"id": "a", "path": "src/pool.py", "code": "x"},
    {"id": "b", "path": "src/pool.py", "code": "y"},
    {"id": "c", "path": "src/retry_policy.py", "code": "z"},
    {"id": "unfound", "path": "src/retry.py", "code": "z"},
]
QUERIES = [{"id": "q", "query": "how does it retry"}, {"id": "unasked", "query": "x"}]
RUN = {"a": 8.0, "b": 7.0, "c": 4.0}
HITS = [{"query_id": "q", "doc_id": doc_id, "score": score} for doc_id, score in RUN.items()]
FILES = {"runs": HITS, "corpus": CORPUS, "queries": QUERIES}
HALF = {"rankers": {}, "repeats": 0.5}


def scores(**options):
    return {row["doc_id"]: row["score"] for row in rerank(**{**FILES, **options})}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"a": 1.0, "b": 0.75, "c": 0.0}),
        ({"k": 2}, {"a": 1.0, "b": 0.75}),
        # the only word is there, the query has one of the two words of the file's name
        ({"ranker": ["path-words=3"]}, {"c": 3 * 0.5**0.5, "a": 1.0, "b": 0.75}),
        ({"weights": [{**HALF, "repeats": 0, "group": "path"}]}, {"a": 1.0, "c": 0.0}),
    ],
)
def test_scores_are_scaled_and_rankers_add_to_them(options, expected):
    assert {name: float(np.float32(each)) for name, each in expected.items()} == scores(**options)


def test_later_hits_of_a_group_count_less():
    assert {"a": 1.0, "b": 0.375, "c": 0.0} == scores(weights=[{**HALF, "group": "path"}])


def test_several_runs_count_together():
    rows = [{"query_id": "q", "doc_id": doc_id, "score": n} for doc_id, n in (("c", 5), ("b", 1))]
    # means 1/2, 3/8 and 1/2, scaled
    assert {"a": 1.0, "c": 1.0, "b": 0.0} == scores(runs={"one": HITS, "other": rows})


def wrong_weights(**weights):
    return {"weights": [weights]}, "weights: holds no weights", 1


@pytest.mark.parametrize(
    ("options", "message", "status"),
    [
        ({"corpus": [{"id": "x"}]}, 'corpus: has no document "[abc]", which is in the run', 1),
        ({"queries": [{"id": "x", "query": "x"}]}, 'queries: has no query "q", which is in the', 1),
        ({"runs": [{"query_id": "", "doc_id": "a", "score": 1}]}, 'no query "", which is in', 1),
        ({"runs": [{"query_id": "q", "doc_id": "", "score": 1}]}, 'no document "", which is in', 1),
        ({"queries": [QUERIES[1], {"id": "q", "query": []}]}, ':2: field "query" is a JSON arr', 1),
        ({"ranker": ["path-word"]}, "unknown ranker 'path-word'; did you mean 'path-words'", 2),
        ({"ranker": ["path-words=much"]}, "'much' is not a weight", 2),
        ({"ranker": ["path-words=inf"]}, "'inf' is not a weight", 2),
        ({"for_": "prose"}, "unknown for_ 'prose'", 2),
        wrong_weights(weights={}),
        wrong_weights(rankers={"coherence": "much"}),
        wrong_weights(rankers=[]),
        wrong_weights(rankers={}, repeats=2),
        wrong_weights(rankers={}, group=1),
    ],
)
def test_what_cannot_be_used_is_told(options, message, status):
    with pytest.raises(UserError, match=message) as error:
        scores(**options)
    assert status == error.value.status


# of each query, the last hit of the search is right: its path has the query's word
WORDS = ["alpha", "bravo", "delta", "gamma"]


def relevant(answers):
    return [{"query_id": query, "doc_id": doc, "relevance": 1} for query, doc in answers.items()]


PATHS = [{"id": word, "path": f"{word}.py", "code": "x"} for word in WORDS]
PATHS += [{"id": f"{word} test", "path": f"test_{word}.py", "code": "x"} for word in WORDS]
ASKED = [{"id": f"q{word}", "query": f"the {word}", "half": word < "c"} for word in WORDS]
JUDGED = {
    "runs": [
        {"query_id": query["id"], "doc_id": record["id"], "score": -place}
        for query in ASKED
        for place, record in enumerate(sorted(PATHS, key=lambda each: each["id"][::-1]))
    ],
    "corpus": PATHS,
    "queries": ASKED,
    "fit": relevant({f"q{word}": f"{word}.py" for word in WORDS}),
}


@pytest.mark.parametrize("field", ["path", "doc_id"])
def test_fitted_weights_find_what_the_judgements_say(field):
    files = JUDGED
    if field == "doc_id":  # passages of a document, judged by it
        corpus = [{**each, "doc_id": f"x/{each['path']}"} for each in PATHS]
        qrels = relevant({f"q{word}": f"x/{word}.py" for word in WORDS})
        files = {**JUDGED, "corpus": corpus, "fit": qrels}
    (found,) = rerank(**files, ranker=["path-words", "path-kinds", "name-words"], folds="half")
    assert found["rankers"]["path-words"] > 0 < found["rankers"]["path-kinds"]
    assert 4 == found["queries"]
    assert 1.0 == found["nDCG@10"]["fitted"] == found["nDCG@10"]["cross_validated"]
    assert 1.0 > found["nDCG@10"]["search"]
    assert {"true": 1.0, "false": 1.0} == found["folds"]
    run = rerank(**{**files, "fit": None, "weights": [found], "k": 1})
    expected = [(f"q{word}", word) for word in WORDS]
    assert expected == [(row["query_id"], row["doc_id"]) for row in run]


def test_the_run_of_held_out_queries_has_weights_of_the_others(tmp_path):
    # words of paths answer the first half of the queries, and mislead in the second
    right = {"qalpha": "alpha", "qbravo": "bravo", "qdelta": "gamma test", "qgamma": "delta test"}
    held_out = tmp_path / "held-out.jsonl"
    options = {"ranker": ["path-words"], "folds": "half", "k": 10, "held_out": held_out}
    (found,) = rerank(**{**JUDGED, "fit": relevant(right), **options})
    gains = {"true": [], "false": []}
    for row in map(orjson.loads, held_out.read_bytes().splitlines()):
        if right[row["query_id"]] == row["doc_id"]:
            gains[str(row["query_id"] < "qc").lower()].append(1 / np.log2(row["rank"] + 1))
    assert found["folds"] == {half: pytest.approx(np.mean(each)) for half, each in gains.items()}
    assert found["folds"]["true"] < 1.0  # of the others it learned to leave paths unread


def test_a_fit_judges_lines_as_score_does(tmp_path):
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
    held_out = str(tmp_path / "held-out.jsonl")
    files = {"runs": run, "corpus": corpus, "queries": ASKED}
    options = {"ranker": ["path-words"], "weights": [{**HALF, "group": "doc_id"}], "fit": rows}
    (found,) = rerank(**files, **options, folds="half", held_out=held_out)
    fitted = list(rerank(**files, weights=[found]))
    scored = score(
        {"held out": held_out, "fitted": fitted},
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
    assert expected == {"held out": told["cross_validated"], "fitted": told["fitted"]}
    assert 0 < told["fitted"] < 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "fit has no rankers"),
        ({"ranker": ["path-kinds"], "folds": "x"}, 'query "qalpha" has no field x'),
        ({"ranker": ["path-kinds"], "fit": relevant({"x": "y"})}, "judges no query of the run"),
        ({"weights": "nothing"}, "nothing: cannot be read: No such file"),
    ],
)
def test_what_cannot_be_fitted(options, problem):
    with pytest.raises(UserError, match=problem):
        list(rerank(**{**JUDGED, **options}))
