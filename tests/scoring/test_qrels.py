"""Runs and qrels are recognized by their content; the error of a bad line has its place."""

import gzip

import pytest

from structkit.errors import UserError
from structkit.records import jsonl
from structkit.scoring.qrels import read_qrels
from structkit.scoring.runs import read_run

RUN = '{"query_id":"q1","doc_id":"a","score":2.5,"rank":1}\n'
QREL = '{"query_id":"q1","doc_id":"a","relevance":2}\n'
TREC = "q1 Q0 a 1 2.5 tag\n"


@pytest.mark.parametrize(
    "text",
    [
        RUN + '{"query_id":1,"doc_id":2,"score":3,"rank":1}\n',
        "\ufeff" + RUN + '\n{"query_id":"1","doc_id":"2","score":3.0}',
        TREC + "1\tQ0\t2\t1\t3\ttag\n",
        "\ufeffq1 Q0 a 1 2.5e0 tag\r\n\r\n1 Q0 2 1 3 tag\r\n",
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_runs_are_recognized_by_content(tmp_path, text, pack):
    (tmp_path / "run").write_bytes(pack(text.encode()))
    assert {"q1": {"a": 2.5}, "1": {"2": 3.0}} == read_run(str(tmp_path / "run"))


@pytest.mark.parametrize(
    "text",
    [
        QREL + '{"query_id":"q2","doc_id":"b","relevance":0}\n',
        "query-id\tcorpus-id\tscore\nq1\ta\t2\nq2\tb\t0\n",
        "query-id\tcorpus-id\tscore\r\nq1\ta\t2\r\nq2\tb\t0\r\n",
        "q1 0 a 2\nq2\t0\tb\t0\n",
    ],
)
def test_qrels_are_recognized_by_content(tmp_path, text):
    (tmp_path / "qrels").write_text(text, newline="")
    assert {"q1": {"a": 2}, "q2": {"b": 0}} == read_qrels(str(tmp_path / "qrels"))


@pytest.mark.parametrize(
    ("read", "text", "problem"),
    [
        (read_run, RUN + RUN, 'document "a" is ranked twice for query "q1"'),
        (read_run, RUN + '{"query_id":"q1","doc_id":"b","score":NaN}', "the line is not JSON"),
        (read_run, RUN + '{"query_id":"q1","doc_id":"b","score":"1"}', 'field "score" is a JSON s'),
        (read_run, RUN + '{"query_id":"q1","doc_id":"b"}', 'field "score" is missing; the record'),
        (read_run, RUN + '{"query_id":"q1","doc_id":true,"score":1}', 'field "doc_id" is a JSON b'),
        (read_run, RUN + "[1]", "the line is not a JSON object"),
        (read_run, RUN + TREC, "the line is not JSON"),
        # joined with commas, these would be JSON
        (read_run, RUN + '{"query_id":"q1",\n"doc_id":"b","score":1}', "the line is not JSON"),
        (read_run, TREC + "q1 Q0 b 2 nan tag", 'field "score" is nan'),
        (read_run, TREC + "q1 Q0 b 2 high tag", 'the score is "high", not a number'),
        (read_run, TREC + "q1 Q0 b 2 1.5", "the line has 5 columns, not 6; write query_id Q0 doc"),
        (read_qrels, QREL + QREL, 'document "a" is judged twice for query "q1"'),
        (
            read_qrels,
            QREL + '{"query_id":"q","doc_id":"b","relevance":0.5}',
            "the relevance is 0.5",
        ),
        (read_qrels, "q1 0 a 1\nq1 0 b yes\n", "the relevance is 'yes', not a whole number"),
        (read_qrels, "q1 0 a 1\nq1 b 1\n", "the line has 3 columns, not 4"),
        (read_qrels, "query-id\tcorpus-id\tscore\nq1 a 1\n", "the line has 1 columns, not 3"),
    ],
)
def test_a_bad_line_is_refused_with_its_place(tmp_path, read, text, problem):
    (tmp_path / "file").write_text(text)
    with pytest.raises(UserError) as error:
        read(str(tmp_path / "file"))
    assert str(error.value).startswith(f"{tmp_path}/file:2: {problem}")


@pytest.mark.parametrize(
    ("last", "problem"),
    [
        (RUN, 'document "a" is ranked twice for query "q1"'),
        ('{"query_id":"q1"', "the line is not JSON"),
        (f'{{"query_id":"{"q" * 200_000}"}}', "the record has more than 100,000 bytes"),
    ],
)
def test_a_bad_line_is_told_wherever_it_is(tmp_path, monkeypatch, last, problem):
    monkeypatch.setenv(jsonl.MAX_RECORD_VARIABLE, "100000")
    others = [RUN.replace('"a"', f'"{number}"') for number in range(5000)]
    (tmp_path / "run").write_text("\n" + RUN + "".join(others) + last)
    with pytest.raises(UserError) as error:
        read_run(str(tmp_path / "run"))
    assert str(error.value).startswith(f"{tmp_path}/run:5003: {problem}")


def test_empty_and_missing_files_are_refused(tmp_path):
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(UserError, match="empty:1: holds no results"):
        read_run(str(tmp_path / "empty"))
    with pytest.raises(UserError, match="empty:1: holds no judgements"):
        read_qrels(str(tmp_path / "empty"))
    with pytest.raises(UserError, match="none: cannot be read: No such file"):
        read_run(str(tmp_path / "none"))
