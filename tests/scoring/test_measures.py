"""Measures with parameters against ir_measures, and scores that are equal in float32."""

import shutil

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structkit import score
from structkit.errors import UserError
from structkit.scoring.measures import evaluate, measure

IDS = st.sampled_from(
    [*(f"d{number}" for number in range(8)), "D", "é", "ﬀ", "𝔡", "d 1", "d\0", "d\0a"]
)
QUERIES = st.sampled_from(["q1", "q2", "q3", "q\0a", "q\0b"])
# few values, some different only in float64: many ties
SCORES = st.sampled_from([0.0, 1.0, 0.5, -0.0, -2.0, 0.1, 0.1 + 1e-12, 16777216.0, 16777217.0])
RUNS = st.dictionaries(QUERIES, st.dictionaries(IDS, SCORES, min_size=1), min_size=1)
QRELS = st.dictionaries(QUERIES, st.dictionaries(IDS, st.integers(-2, 3), min_size=1), min_size=1)
NAMES = (
    "AP RR RR@2 R@5 P@2 Success@1 AP(rel=2) AP(rel=2)@3 P(rel=2)@4 P(judged_only=True)@4 RR(rel=2) "
    "RR(rel=2)@2 RR@10 R(rel=2)@100 Success(rel=2)@1 nDCG(judged_only=True)@5 "
    "nDCG(gains={1:5,2:0})@4 nDCG@4 nDCG Judged@3 Bpref Bpref(rel=2) infAP IPrec@0.5 NumRet "
    "NumRet(rel=2) Rprec(rel=2) SetAP SetF SetF(beta=0.5) SetP SetP(relative=True) SetR "
    "Compat(p=0.9)"
).split()


def by_rank(documents):
    """Scores that differ in trec_eval's float32, in the same order."""
    ordered = sorted((score, doc_id) for doc_id, score in documents.items())
    return {doc_id: float(place) for place, (_, doc_id) in enumerate(ordered, 1)}


def without_nul(documents_of):
    """The same ids, which C does not cut."""
    return {
        query_id.replace("\0", "␀"): {
            name.replace("\0", "␀"): documents[name] for name in documents
        }
        for query_id, documents in documents_of.items()
    }


@settings(max_examples=120)
@given(run=RUNS, qrels=QRELS)
def test_values_are_those_of_ir_measures(run, qrels):
    scores = {query_id: by_rank(run[query_id]) for query_id in run if query_id in qrels}
    if not scores:
        with pytest.raises(UserError, match="no query of the run is judged"):
            evaluate(run, qrels, NAMES)
        return
    result = evaluate(run, qrels, NAMES)
    assert (len(qrels) - len(scores), len(run) - len(scores)) == (len(result.lost), result.unjudged)
    rows = dict(zip(result.query_ids, result.values, strict=True))
    assert [*qrels] == [*rows] and not any(rows[each].any() for each in qrels if each not in run)
    for query_id in [each for each in scores if max(qrels[each].values()) < 0]:
        # nothing is right, and the oracle would die of it (TREC Web judges spam with -2)
        values = dict(zip(NAMES, rows[query_id], strict=True))
        assert values.pop("NumRet") == len(scores.pop(query_id))
        assert values.pop("Judged@3") <= 1 and not any(values.values())
        del qrels[query_id]
    qrels, scores = without_nul(qrels), without_nul(scores)
    rows = {query_id.replace("\0", "␀"): row for query_id, row in rows.items()}
    for column, name in enumerate(NAMES):  # one at a time: together, it may mix their parameters
        for each in ir_measures.iter_calc([ir_measures.parse_measure(name)], qrels, scores):
            if each.query_id in scores:
                value = rows[each.query_id][column]
                assert each.value == pytest.approx(value, abs=1e-12), (name, each.query_id)


@pytest.mark.skipif(not shutil.which("perl"), reason="gdeval of ir_measures is a Perl script")
def test_exponential_gains_are_those_of_gdeval():
    qrels = {"1": {"a": 3, "b": 0, "c": 2, "d": 1}, "2": {"x": 1, "y": -1}}
    run = {"1": {"z": 3.0, "d": 2.5, "a": 2.0, "c": 1.0}, "2": {"y": 2.0, "x": 1.0}}
    names = ["nDCG(dcg='exp-log2')@3", "nDCG(dcg='exp-log2')@10", "ERR@3"]
    result = evaluate(run, qrels, [*names, "nDCG@3"])
    for column, name in enumerate(names):
        theirs = ir_measures.iter_calc([ir_measures.parse_measure(name)], qrels, run)
        expected = {each.query_id: each.value for each in theirs}
        for query_id, values in zip(result.query_ids, result.values, strict=True):
            assert expected[query_id] == pytest.approx(values[column], abs=1e-5)  # its digits
    assert evaluate(run, qrels, ["nDCG@3"]).values.tolist() == result.values[:, 3:].tolist()


@pytest.mark.skipif(not shutil.which("perl"), reason="ERR needs Perl")
def test_gains_that_are_too_high_are_refused():
    with pytest.raises(UserError, match="of a relevance of 20; judge with grades of at most 19"):
        evaluate({"q": {"a": 1.0}}, {"q": {"a": 20}}, ["nDCG(dcg='exp-log2')"])
    with pytest.raises(UserError, match="ERR@9 of a relevance of 5: gdeval takes grades up to 4;"):
        evaluate({"q": {"a": 1.0}}, {"q": {"a": 4}, "r": {"b": 5}}, ["ERR@9"])


def test_what_is_not_installed_is_said():
    with pytest.raises(UserError, match="does not compute alpha_nDCG@10; pip install ir-meas"):
        measure("alpha_nDCG@10")


@pytest.mark.parametrize(
    "scores",
    [
        (1700000001.0, 1700000002.0),
        (16777216.0, 16777217.0),
        (0.1, 0.1 + 1e-12),
        (1e299, 1e300),
        (0.0, 1e-300),
        (-1e300, -1e299),
        (1700000001, 1700000002),
    ],
)
def test_scores_are_compared_as_doubles(scores):
    names = ["RR", "RR@1", "nDCG", "P@1", "Success@1"]
    for best, other in (("a", "b"), ("b", "a")):
        run = {"q": {other: scores[0], best: scores[1]}}
        assert [1.0] * 5 == evaluate(run, {"q": {best: 1}}, names).values[0].tolist()
    tied = {"q": {"a": scores[0], "b": scores[0]}}  # the later id first
    assert [1.0] * 5 == evaluate(tied, {"q": {"b": 1}}, names).values[0].tolist()


RUN = b"q Q0 a 1 2.0 x\nq Q0 b 2 1.0 x\n"
QREL = b"q 0 a 1\n"


@pytest.mark.parametrize(
    "run",
    [
        RUN.replace(b" x\n", b" my tag of words\n"),
        b"# a comment of more words than there are columns\n" + RUN,
        RUN.replace(b"q Q0 b", b"  # q Q0 b 2 3.0 x\nq Q0 b"),
        RUN.replace(b" ", b"\t").replace(b"\n", b"\r\n"),
        b"\n \n" + RUN + b"\n",
        RUN.replace(b" ", b"  \t"),
    ],
)
def test_run_lines_are_read_as_trec_eval_does(tmp_path, run):
    (tmp_path / "run").write_bytes(run)
    (tmp_path / "qrels").write_bytes(b"# query iteration document grade\n" + QREL + b"# end\n")
    (record,) = score(tmp_path / "run", qrels=tmp_path / "qrels", measures=["RR", "NumRet"])
    assert [1.0, 2.0] == [record["RR"], record["NumRet"]]


def test_a_blank_of_unicode_is_part_of_an_id(tmp_path):
    (tmp_path / "run").write_text("q Q0 a\u3000b 1 2.0 x\n", "utf-8")
    (tmp_path / "qrels").write_text("q 0 a\u3000b 1\n", "utf-8")
    (record,) = score(tmp_path / "run", qrels=tmp_path / "qrels", measures=["RR"])
    assert 1.0 == record["RR"]


@pytest.mark.parametrize(
    "grade", [1_000_001, -1_000_001, 2**31, 2**32, 100_000_000, 2**63, 2**64, 10**30]
)
@pytest.mark.parametrize("form", ["trec", "jsonl", "beir"])
def test_grades_that_cannot_be_meant_are_refused(tmp_path, grade, form):
    lines = {
        "trec": ("", "q 0 a 1", f"q 0 b {grade}"),
        "jsonl": (
            "",
            '{"query_id": "q", "doc_id": "a", "relevance": 1}',
            f'{{"query_id": "q", "doc_id": "b", "relevance": {grade}}}',
        ),
        "beir": ("query-id\tcorpus-id\tscore", "q\ta\t1", f"q\tb\t{grade}"),
    }
    (tmp_path / "qrels").write_text("\n".join(lines[form]) + "\n")
    (tmp_path / "run").write_bytes(RUN)
    with pytest.raises(UserError, match=r"qrels:3: .*beyond 1,000,000; write a grade such as 0, 1"):
        list(score(tmp_path / "run", qrels=tmp_path / "qrels"))
