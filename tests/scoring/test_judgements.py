"""Runs of passages: a document is found where its first passage is, and only once."""

import math

import pytest

from structkit import score
from structkit.errors import UserError

# in the order of the run: two passages of a.py, one of b.py, two of c.py, the second on its lines
PASSAGES = [
    {"id": "a#1", "path": "a.py", "lines": [1, 9]},
    {"id": "a#2", "path": "a.py", "lines": [10, 19]},
    {"id": "b#1", "path": "b.py", "lines": [1, 9]},
    {"id": "c#1", "path": "c.py", "lines": [1, 9]},
    {"id": "c#2", "path": "c.py", "lines": [10, 19]},
    {"id": "c#3", "path": "c.py", "lines": [20, 29]},
]
RUN = [
    {"query_id": "q", "doc_id": passage["id"], "score": -place}
    for place, passage in enumerate(PASSAGES)
]
QRELS = [
    {"query_id": "q", "doc_id": "a.py", "relevance": 2},
    {"query_id": "q", "doc_id": "c.py", "relevance": 1, "start_line": 12, "end_line": 20},
    {"query_id": "q", "doc_id": "d.py", "relevance": 1},
]


def scored(run=RUN, qrels=QRELS, passages=PASSAGES, **options):
    (record,) = score({"run": run}, qrels=qrels, passages=passages, **options)
    return record


def test_gains_count_once_at_the_rank_of_the_first_passage():
    # a.py at rank 1, c.py at 5 (c#2 is the first on its lines), d.py nowhere
    names = ["nDCG@10", "nDCG@3", "RR@10", "R@100", "Judged@4"]
    found = scored(measures=names, gains="binary")
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert (1 + 1 / math.log2(6)) / ideal == pytest.approx(found["nDCG@10"])
    assert 1 / ideal == pytest.approx(found["nDCG@3"])
    # both passages of a.py and the first of c.py are of judged documents, that of b.py is not
    assert [1, 2 / 3, 3 / 4] == pytest.approx([found["RR@10"], found["R@100"], found["Judged@4"]])


def test_a_passage_that_meets_two_judgements_counts_for_the_better_one():
    qrels = [
        {"query_id": "q", "doc_id": "a.py", "relevance": 1, "start_line": 1, "end_line": 2},
        {"query_id": "q", "doc_id": "a.py", "relevance": 2, "start_line": 9, "end_line": 11},
    ]
    # a#1 meets both, and a#2 the second again
    found = scored(qrels=qrels, measures=["nDCG@10", "P@2"])
    assert 2 / (2 + 1 / math.log2(3)) == pytest.approx(found["nDCG@10"])
    assert 1 / 2 == found["P@2"]


def test_a_passage_without_lines_is_all_of_its_document():
    passages = [{"id": passage["id"], "doc_id": passage["path"]} for passage in PASSAGES]
    found = scored(passages=passages, measures=["nDCG@10"], gains="binary")
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert (1 + 1 / math.log2(5)) / ideal == pytest.approx(found["nDCG@10"])


def test_ties_are_broken_as_in_a_run_of_documents():
    run = [{**hit, "score": 1.0} for hit in RUN]
    # c#3, c#2, c#1, b#1, a#2, a#1: ids from behind
    found = scored(run=run, measures=["RR@10", "nDCG@10"], gains="binary")
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert 1 == found["RR@10"]
    assert (1 + 1 / math.log2(6)) / ideal == pytest.approx(found["nDCG@10"])
    run = [{**hit, "query_id": "c.py"} for hit in RUN]  # the query's own document is at rank 4
    assert 1 / 4 == scored(run=run, qrels="self", measures=["RR"])["RR"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"passages": PASSAGES[1:]}, '"a#1" is not among the passages'),
        ({"passages": [*PASSAGES, PASSAGES[0]]}, 'id "a#1" is repeated'),
        ({"passages": [{"id": "a#1"}]}, '"doc_id" nor "path"'),
        ({"passages": [{**PASSAGES[0], "lines": [1]}]}, 'field "lines" is not'),
        ({"qrels": [{**QRELS[1], "end_line": None}]}, "start_line and end_line are 12 and None"),
        ({"qrels": [QRELS[1], QRELS[1]]}, "judged twice"),
    ],
)
def test_what_does_not_fit_is_told(changes, told):
    with pytest.raises(UserError, match=told):
        scored(**changes)
