"""Tables of other tools: what stands in a column stays there, or is an error with its place."""

import datetime

import pyarrow
import pyarrow.parquet
import pytest

from tests.jsonl import read

A_P = "anchor,positive\n"
FROM = ["--from", "sentence-transformers", "--on-error", "skip"]
# a file, what becomes of its rows, and a part of what is said
TABLES = {
    "query.csv": (A_P + ",p\na,b\n", ["a b"], 'the query is missing (column "anchor")'),
    "positive.csv": ("a,p,n\n1,,3\n4,5,6\n", ["4 5 6"], 'the positive is missing (column "p")'),
    "negative.csv": ("a,p,n,m\n1,2,,3\n4,5,6,\n", ["1 2 3", "4 5 6"], ""),
    "null.jsonl": (
        '{"a": "1", "p": "2", "n": null}\n{"a": "1", "p": null, "n": "3"}\n',
        ["1 2"],
        'the positive is missing (column "p")',
    ),
    "order.jsonl": ('{"a": "1", "p": "2"}\n{"p": "4", "a": "3"}\n', ["1 2", "3 4"], ""),
    "absent.jsonl": (
        '{"anchor": "1", "negative": "2"}\n{"anchor": "1", "positive": "2"}\n',
        [],
        'the positive is missing (column "negative")',
    ),
    "twice.csv": ("text,text,label\na,b,1\n", [], 'the header has the column "text" twice'),
    "index.csv": (",anchor,positive\n0,a,b\n", [], "a column has no name"),
    "quote.csv": (
        A_P + '"a,p\n' + "b,c\n" * 3 + 'd,"e"f\ng,"h\ni"\n',
        ["b c"] * 3 + ["g h\ni"],
        '"line":6,"reason":"the row\'s quotes do not match',
    ),
    "utf-16.csv": ((A_P + "a,b\n").encode("utf-16"), [], "the line is not UTF-8"),
    "utf-16le.csv": ((A_P + "a,b\n").encode("utf-16le"), [], "the header holds NUL"),
    "nan.csv": ("a,p,label\n1,2,nan\n1,2,1_0\n1,2,1\n", ["1 2"], '"label" is 1_0, not a finite'),
}


@pytest.mark.parametrize("name", TABLES)
def test_columns_of_training_examples(name, here, tmp_path):
    content, rows, said = TABLES[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    done = here("convert", name, *FROM, "--rejects", "no.jsonl", "-o", "out.jsonl")
    assert 0 == done.returncode
    found = read(tmp_path / "out.jsonl")
    assert rows == [" ".join([e["query"], e["positive"], *e.get("negatives", [])]) for e in found]
    assert said in (tmp_path / "no.jsonl").read_text().replace('\\"', '"')


def test_a_folder_that_lacks_a_part_says_so(here, tmp_path):
    (tmp_path / "beir/qrels").mkdir(parents=True)
    judged = "query-id\tcorpus-id\tscore\nq\td\t1_0\n"
    (tmp_path / "beir/qrels/test.tsv").write_text(judged)
    done = here("convert", "--from", "beir", "beir")
    assert b"has no corpus.jsonl" in done.stderr and b"has no queries.jsonl" in done.stderr
    assert b"test.tsv:2" in done.stderr and b"1_0, not a whole number" in done.stderr
    (tmp_path / "run.trec").write_text("q Q0 d 1 1_0 x\n")
    assert b"run.trec:1" in here("fuse", "run.trec", "run.trec").stderr


PARQUET = {
    "text": (pyarrow.array(["grün".encode()]), "grün"),
    "texts": (pyarrow.array([["grün".encode()]], pyarrow.list_(pyarrow.large_binary())), ["grün"]),
    "date": (pyarrow.array([datetime.date(2020, 1, 2)]), "2020-01-02"),
    "null": (pyarrow.array([[1.0, None]]), [1.0, None]),
    "bytes": (pyarrow.array([b"gr\xfcn"]), None),
    "nan": (pyarrow.array([float("nan")]), None),
    "infinity": (pyarrow.array([[1.0, float("inf")]]), None),
}


@pytest.mark.parametrize("name", PARQUET)
def test_columns_of_parquet(name, here, tmp_path):
    column, expected = PARQUET[name]
    pyarrow.parquet.write_table(pyarrow.table({"id": ["1"], name: column}), tmp_path / "a.parquet")
    done = here("select", "a.parquet", "-o", "out.jsonl")
    if expected is None:
        assert 1 == done.returncode
        assert f'a.parquet: column "{name}" cannot be JSON'.encode() in done.stderr
    else:
        assert [{"id": "1", name: expected}] == read(tmp_path / "out.jsonl")
