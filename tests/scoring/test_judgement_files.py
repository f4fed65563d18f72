"""Runs and qrels are recognized by their content; a bad line is told with its place."""

import gzip
from pathlib import Path

import pytest

from structkit.errors import UserError
from structkit.records.lines import VARIABLE
from structkit.scoring.qrels import read_qrels
from structkit.scoring.runs import read_run

RUN = '{"query_id":"q1","doc_id":"a","score":2.5,"rank":1}\n'
QREL = '{"query_id":"q1","doc_id":"a","relevance":2}\n'


@pytest.mark.parametrize(
    "text",
    [
        RUN + '{"query_id":1,"doc_id":2,"score":3,"rank":1}\n',
        "\ufeff" + RUN + '\n{"query_id":"1","doc_id":"2","score":3.0}',
        "q1 Q0 a 1 2.5 tag\n1\tQ0\t2\t1\t3\ttag\n",
        "\ufeffq1 Q0 a 1 2.5e0 tag\r\n\r\n1 Q0 2 1 3 tag\r\n",
    ],
)
@pytest.mark.parametrize("name", ["run", "run.gz"])
def test_runs_are_recognized_by_content(tmp_path: Path, text: str, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name == "run.gz" else text.encode())
    assert {"q1": {"a": 2.5}, "1": {"2": 3.0}} == read_run(str(path))


@pytest.mark.parametrize(
    "text",
    [
        QREL + '{"query_id":"q 2","doc_id":"b","relevance":0}\n',
        "query-id\tcorpus-id\tscore\nq1\ta\t2\nq 2\tb\t0\n",
        "query-id\tcorpus-id\tscore\r\nq1\ta\t2\r\nq 2\tb\t0\r\n",
    ],
)
def test_qrels_are_recognized_by_content(tmp_path: Path, text: str) -> None:
    path = tmp_path / "qrels"
    path.write_text(text, newline="")
    assert {"q1": {"a": 2}, "q 2": {"b": 0}} == read_qrels(str(path))


def test_trec_qrels_are_read(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text("q1 0 a 2\nq1\t0\tb\t-1\n")
    assert {"q1": {"a": 2, "b": -1}} == read_qrels(str(path))


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        (RUN, 'document "a" is ranked twice for query "q1"'),
        ('{"query_id":"q1","doc_id":"b","score":NaN}', 'field "score" is NaN'),
        ('{"query_id":"q1","doc_id":"b","score":null}', 'field "score" is a JSON null'),
        ('{"query_id":"q1","doc_id":"b","score":"1"}', 'field "score" is a JSON string'),
        ('{"query_id":"q1","doc_id":"b"}', 'field "score" is missing; the record has: query_id'),
        ('{"query_id":"q1","doc_id":true,"score":1}', 'field "doc_id" is a JSON boolean'),
        ('{"query_id":["q1"],"doc_id":"b","score":1}', 'field "query_id" is a JSON array'),
        ("[1]", "the line is not a JSON object"),
        ("q1 Q0 b 1 2.5 tag", "the line is not JSON"),
        # joined with commas, these would be JSON
        ('{"query_id":"q1",\n"doc_id":"b","score":1}', "the line is not JSON"),
        (f"{RUN.strip()},{RUN.strip()}", "the line is not JSON"),
    ],
)
def test_a_bad_line_of_a_jsonl_run_is_refused(tmp_path: Path, second: str, problem: str) -> None:
    path = tmp_path / "run"
    path.write_text(RUN + second + "\n")
    with pytest.raises(UserError) as error:
        read_run(str(path))
    assert str(error.value).startswith(f"{path}:2: {problem}")


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        ("q1 Q0 a 2 1.5 tag", 'document "a" is ranked twice for query "q1"'),
        ("q1 Q0 b 2 nan tag", 'field "score" is nan'),
        ("q1 Q0 b 2 inf tag", 'field "score" is inf'),
        ("q1 Q0 b 2 high tag", 'the score is "high", not a number'),
        ("q1 Q0 b 2 1.5", "the line has 5 columns, not 6; write query_id Q0 doc_id rank"),
        ("q1 Q0 b c 2 1.5 tag", "the line has 7 columns"),
    ],
)
def test_a_bad_line_of_a_trec_run_is_refused(tmp_path: Path, second: str, problem: str) -> None:
    path = tmp_path / "run"
    path.write_text(f"q1 Q0 a 1 2.5 tag\n{second}\n")
    with pytest.raises(UserError) as error:
        read_run(str(path))
    assert str(error.value).startswith(f"{path}:2: {problem}")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (QREL + QREL, 'document "a" is judged twice for query "q1"'),
        (QREL + '{"query_id":"q1","doc_id":"b","relevance":0.5}', "the relevance is 0.5, not a"),
        (QREL + '{"query_id":"q1","doc_id":"b","score":1}', 'field "relevance" is missing'),
        ("q1 0 a 1\nq1 0 b yes\n", "the relevance is 'yes', not a whole number"),
        ("q1 0 a 1\nq1 0 b 1.5\n", "the relevance is '1.5', not a whole number"),
        ("q1 0 a 1\nq1 b 1\n", "the line has 3 columns, not 4"),
        ("query-id\tcorpus-id\tscore\nq1 a 1\n", "the line has 1 columns, not 3"),
    ],
)
def test_a_bad_line_of_qrels_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "qrels"
    path.write_text(text)
    with pytest.raises(UserError) as error:
        read_qrels(str(path))
    assert str(error.value).startswith(f"{path}:2: {problem}")


@pytest.mark.parametrize(
    ("last", "problem"),
    [
        (RUN, 'document "a" is ranked twice for query "q1"'),
        ('{"query_id":"q1"', "the line is not JSON"),
        (f'{{"query_id":"{"q" * 200_000}"}}', "the record has more than 100,000 bytes"),
    ],
)
def test_a_bad_line_is_told_wherever_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str, problem: str
) -> None:
    monkeypatch.setenv(VARIABLE, "100000")
    path = tmp_path / "run"
    others = [RUN.replace('"a"', f'"{number}"') for number in range(5000)]
    path.write_text("\n" + RUN + "".join(others) + last)
    with pytest.raises(UserError) as error:
        read_run(str(path))
    assert str(error.value).startswith(f"{path}:5003: {problem}")


def test_empty_and_missing_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_text("\n")
    with pytest.raises(UserError, match="empty:1: holds no results"):
        read_run(str(path))
    with pytest.raises(UserError, match="empty:1: holds no judgements"):
        read_qrels(str(path))
    with pytest.raises(UserError, match="none: cannot be read: No such file"):
        read_run(str(tmp_path / "none"))


def test_each_line_is_json_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    # two records on a line and one over two: joined by commas, three in three lines
    row = '{"query_id":"q","doc_id":"%s","score":1}'
    path.write_text(f"{row % 'a'},{row % 'b'}\n" + '{"query_id":"q"\n"doc_id":"c","score":1}\n')
    with pytest.raises(UserError, match=r"run\.jsonl:1: "):
        read_run(str(path))


@pytest.mark.parametrize(("read", "row"), [(read_run, RUN), (read_qrels, QREL)])
def test_a_line_that_is_too_long_is_refused(tmp_path, monkeypatch, read, row) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(row + row.replace('"a"', '"b"').replace("}", f',"x":"{"y" * 99}"' + "}"))
    monkeypatch.setenv(VARIABLE, "100")
    with pytest.raises(UserError, match=r"rows\.jsonl:2: the record has more than"):
        read(str(path))
