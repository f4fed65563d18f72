"""Gains of labels, worked by hand; what is no gain is refused."""

import math

import orjson
import pytest

from structkit import score
from structkit.errors import UserError
from structkit.scoring.qrels import parse_gains

# what an engine ranked: a Complement, the Exact, nothing judged, the Substitute
LABELS = [("c", "C"), ("e", "E"), ("s", "S"), ("i", "I")]


@pytest.fixture
def labeled(tmp_path):
    """The paths of a run and its labels."""
    rows = [{"query_id": "q1", "doc_id": doc, "label": label} for doc, label in LABELS]
    run = [{"query_id": "q1", "doc_id": doc, "score": -n} for n, doc in enumerate("cexs")]
    for name, records in (("run", run), ("qrels", rows)):
        (tmp_path / name).write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in records))
    return tmp_path / "run", tmp_path / "qrels"


@pytest.mark.parametrize(
    ("gains", "c", "s"),
    [
        ("esci-documented", 0.01, 0.1),
        ("esci-official", 0.1, 0.01),
        ("exact", 0, 0),
        (" E = 1,S=0.5 ,C=0.25,I=0", 0.25, 0.5),
        ("I=0.0,C=2,S=30,E=300", 2 / 300, 0.1),
    ],
)
def test_gains_worked_by_hand(labeled, gains, c, s):
    run, qrels = labeled
    (record,) = score({"r": run}, qrels=qrels, measures=["nDCG@10", "nDCG@1", "RR"], gains=gains)
    best = 1 + max(c, s) / math.log2(3) + min(c, s) / math.log2(4)
    found = c + 1 / math.log2(3) + s / math.log2(5)
    assert found / best == pytest.approx(record["nDCG@10"])
    assert c == pytest.approx(record["nDCG@1"])
    assert (1 if c else 1 / 2) == record["RR"]


@pytest.mark.parametrize(
    ("gains", "problem"),
    [
        (
            "esci-documnted",
            "unknown preset of gains 'esci-documnted'; did you mean 'esci-documented'?",
        ),
        (
            "",
            "unknown preset of gains ''; available: binary, esci-documented, esci-official, exact",
        ),
        ("E=1,S", "--gains 'E=1,S': 'S' is not LABEL=VALUE; for example E=1,S=0.1"),
        ("E=nan", "--gains 'E=nan': 'E=nan' is not LABEL=VALUE"),
        ("E=1,E=2", "--gains 'E=1,E=2': label 'E' is given twice"),
        ("E=0", "--gains 'E=0': no gain is above 0"),
        ("E=1,S=0.0000001", "--gains 'E=1,S=0.0000001': the gains are more than 1,000,000 times"),
    ],
)
def test_gains_that_are_none_are_refused(gains, problem):
    with pytest.raises(UserError) as error:
        parse_gains(gains)
    assert (problem, 2) == (str(error.value)[: len(problem)], error.value.status)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"query_id":"q1","doc_id":"b","relevance":1}', '5: field "label" is missing; the record'),
        ('{"query_id":"q1","doc_id":"b","label":1}', '5: field "label" is a JSON number, not a s'),
        ('{"query_id":"q1","doc_id":"b","label":"P"}', '5: label "P" has no gain; available: E'),
        (None, " the judgements have no labels; give gains"),
    ],
)
def test_a_judgement_without_a_gain_is_refused(labeled, line, problem):
    run, qrels = labeled
    qrels.write_text("q1 0 a 1\n" if line is None else f"{qrels.read_text()}{line}\n")
    with pytest.raises(UserError, match=f"qrels:{problem}"):
        list(score({"r": run}, qrels=qrels, gains="exact"))
