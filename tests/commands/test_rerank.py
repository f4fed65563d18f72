"""Reranking: numbers worked by hand, groups, presets, and wrong usage."""

import numpy as np
import pytest

from structkit import rerank
from structkit.errors import UserError
from structkit.ranking.reranking import Query, Ranking
from structkit.ranking.reranking import rerank as reranked
from structkit.searching.hits import Hit

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


def scores(**options):
    return {row["doc_id"]: row["score"] for row in rerank(**{**FILES, **options})}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"a": 1.0, "b": 0.75, "c": 0.0}),
        ({"k": 2}, {"a": 1.0, "b": 0.75}),
        # the only word is there, the query has one of the two words of the file's name
        ({"ranker": ["path-words=3"]}, {"c": 3 * 0.5**0.5, "a": 1.0, "b": 0.75}),
    ],
)
def test_scores_are_scaled_and_rankers_add_to_them(options, expected):
    assert {name: float(np.float32(each)) for name, each in expected.items()} == scores(**options)


def test_later_hits_of_a_file_count_less():
    hits = [Hit(doc_id, score) for doc_id, score in RUN.items()]
    records = {record["id"]: record for record in CORPUS}
    ranking = Ranking(repeats=0.5)
    found = reranked(Query("q", "how does it retry"), hits, records, ranking, 10)
    assert {"a": 1.0, "b": 0.375, "c": 0.0} == {hit.doc_id: hit.score for hit in found}


def test_several_runs_count_together():
    rows = [{"query_id": "q", "doc_id": doc_id, "score": n} for doc_id, n in (("c", 5), ("b", 1))]
    # means 1/2, 3/8 and 1/2, scaled
    assert {"a": 1.0, "c": 1.0, "b": 0.0} == scores(runs={"one": HITS, "other": rows})


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
    ],
)
def test_what_cannot_be_used_is_told(options, message, status):
    with pytest.raises(UserError, match=message) as error:
        scores(**options)
    assert status == error.value.status
