"""Gains of labels, worked by hand; what is no gain is refused."""

import math
from pathlib import Path

import orjson
import pytest

from structkit import score
from structkit.errors import UserError
from structkit.scoring.qrels import parse_gains

# what an engine ranked: a Complement, the Exact, nothing judged, the Substitute
LABELS = [("c", "C"), ("e", "E"), ("s", "S"), ("i", "I")]


def labelled(folder: Path) -> tuple[str, str]:
    rows = [{"query_id": "q1", "doc_id": doc, "label": label} for doc, label in LABELS]
    (folder / "qrels").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    run = [{"query_id": "q1", "doc_id": doc, "score": -n} for n, doc in enumerate("cexs")]
    (folder / "run").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in run))
    return str(folder / "run"), str(folder / "qrels")


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
def test_gains_worked_by_hand(tmp_path: Path, gains: str, c: float, s: float) -> None:
    run, qrels = labelled(tmp_path)
    (record,) = score({"r": run}, qrels=qrels, measures=["nDCG@10", "nDCG@1", "RR"], gains=gains)
    best = 1 + max(c, s) / math.log2(3) + min(c, s) / math.log2(4)
    found = c + 1 / math.log2(3) + s / math.log2(5)
    assert found / best == pytest.approx(record["nDCG@10"])
    assert c == pytest.approx(record["nDCG@1"])
    assert (1 if c else 1 / 2) == record["RR"]


@pytest.mark.parametrize(
    ("gains", "problem"),
    [
        ("esci-documnted", "no preset of gains 'esci-documnted'; did you mean 'esci-documented'?"),
        ("", "no preset of gains ''; there are: binary, esci-documented, esci-official, exact"),
        ("E=1,S", "--gains 'E=1,S': 'S' is not LABEL=VALUE; for example E=1,S=0.1"),
        ("E=-1", "--gains 'E=-1': 'E=-1' is not LABEL=VALUE"),
        ("E=nan", "--gains 'E=nan': 'E=nan' is not LABEL=VALUE"),
        ("E=1e999999999", "--gains 'E=1e999999999': 'E=1e999999999' is not"),
        ("=1", "--gains '=1': '=1' is not LABEL=VALUE"),
        ("E=1,E=2", "--gains 'E=1,E=2': label 'E' is given twice"),
        ("E=0", "--gains 'E=0': no gain is above 0"),
        ("E=1,S=0.0000001", "--gains 'E=1,S=0.0000001': the gains are more than 1,000,000 times"),
    ],
)
def test_gains_that_are_none_are_refused(gains: str, problem: str) -> None:
    with pytest.raises(UserError) as error:
        parse_gains(gains)
    assert str(error.value).startswith(problem)
    assert 2 == error.value.status


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"query_id":"q1","doc_id":"b","relevance":1}', 'field "label" is missing; the record'),
        ('{"query_id":"q1","doc_id":"b","label":1}', 'field "label" is a JSON number, not a str'),
        ('{"query_id":"q1","doc_id":"b","label":"P"}', 'label "P" has no gain; there are: E, S, C'),
        ("q1 0 b 1", "the line is not JSON"),
    ],
)
def test_a_judgement_without_a_gain_is_refused(tmp_path: Path, line: str, problem: str) -> None:
    run, qrels = labelled(tmp_path)
    with Path(qrels).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(UserError) as error:
        list(score({"r": run}, qrels=qrels, gains="exact"))
    assert str(error.value).startswith(f"{qrels}:5: {problem}")


def test_gains_need_labels(tmp_path: Path) -> None:
    run, qrels = labelled(tmp_path)
    Path(qrels).write_text("q1 0 a 1\n")
    with pytest.raises(UserError, match=r"qrels:1: the judgements have no labels; give gains"):
        list(score({"r": run}, qrels=qrels, gains="exact"))
    with pytest.raises(UserError, match="gains and qrels='self' exclude each other"):
        list(score({"r": "no file"}, qrels="self", gains="exact"))
