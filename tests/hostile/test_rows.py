"""Rows, spoiled: JSONL, gzip and Parquet, and other tools' formats; rows, or one clear error."""

import csv
import gzip
import json
import tracemalloc
from pathlib import Path

import orjson
import pytest
from hostile.good import parquet
from hostile.spoiling import examples, spoiled
from hypothesis import given
from hypothesis import strategies as st

from structkit.embeddings.reading import read_parquet
from structkit.errors import UserError
from structkit.formats.interchange import FormatParts, read_records
from structkit.formats.rows import BracketRows, ColumnRows, DelimitedRows, ParagraphRows
from structkit.records.jsonl import Records, accepted
from structkit.records.lines import MAXIMUM, Lines, limit_bytes
from structkit.records.output import dump
from structkit.scoring.qrels import read_judgements, read_qrels
from structkit.scoring.runs import read_run

FORMATS = Path("fixtures/formats")
# a part of a format, and the file that holds it
PARTS = {
    "beir corpus": "beir/corpus.jsonl",
    "codesearchnet corpus": "codesearchnet/test.jsonl",
    "conllu sentences": "conllu/test.conllu",
    "esci qrels": "esci/examples.jsonl",
    "flagembedding examples": "flagembedding/train.jsonl",
    "ptb trees": "ptb/test.mrg",
    "pyserini embeddings": "pyserini/embeddings.jsonl",
    "sentence-transformers examples": "sentence_transformers/train.jsonl",
    "structdocretrieval corpus": "structdocretrieval/test.json",
    "tevatron corpus": "tevatron.v2/corpus.jsonl",
    "trec run": "trec/run.trec",
    "wands corpus": "wands/product.csv",
}
ROWS = {
    "columns": (lambda path: ColumnRows([path], ("a", "b")), b"1 2\n3 4\n"),
    "cells": (lambda path: DelimitedRows([path], ","), b'a,b\n1,2\n"3\n""x",4\n'),
    "brackets": (lambda path: BracketRows([path]), b"(S (A a)\n (B b))\n(S (C c))\n"),
    "paragraphs": (lambda path: ParagraphRows([path]), b"1\n2\n\n\n3\n"),
}


@pytest.fixture(autouse=True)
def limit():
    yield
    limit_bytes(MAXIMUM)


def drained(rows, each=dict):
    """What rows give, and their rejects; only a fault of the whole file ends them."""
    rejected = []
    made = []
    try:
        for result in accepted(each, rows, rejected.append):
            made.append(result)
    except UserError as error:
        assert error.file and error.remedy
    for each in rejected:
        assert each.error.line and each.error.remedy
        dump(each.record())
    return made, rejected


GOOD = b"".join(
    orjson.dumps(
        {"id": f"é{n}", "text": 'a "b" \\ \n c', "numbers": [n, -1.5, 2**40], "none": None}
    )
    + b"\n"
    for n in range(3)
)


PARQUET = parquet([orjson.loads(line) for line in GOOD.splitlines()])


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("a.jsonl", GOOD),
        ("a.jsonl.gz", gzip.compress(GOOD * 20, mtime=0)),
        ("a.parquet", PARQUET),
    ],
)
@examples(60)
@given(st.data())
def test_spoiled_records(tmp_path, name, good, data):
    (tmp_path / name).write_bytes(data.draw(spoiled(good)))
    read(tmp_path / name)


@pytest.mark.parametrize("text", [b"none", b'a "b"'])  # a column's name, a value
def test_texts_of_parquet_that_are_no_utf8_are_told(tmp_path, text):
    path = write(tmp_path / "a.parquet", PARQUET.replace(text, text[:-1] + b"\xe9"))
    for reading in (Records.read([str(path)]), map(read_parquet, [str(path)])):
        with pytest.raises(UserError, match="a.parquet: "):
            list(reading)


def read(path, most=MAXIMUM):
    """The records of a file as lines, and its rejects."""
    limit_bytes(most)
    records = Records.read([str(path)])
    made, rejected = drained(records)
    assert records.count == len(made) + len(rejected) or not made
    return [dump(record) for record in made], rejected


@examples(60)
@given(st.lists(st.sampled_from([0, 1, 5, 9, 10, 11, 70_000]), max_size=6), st.integers(8, 12))
def test_lines_that_are_too_long_are_told_and_the_others_read(tmp_path, lengths, most):
    lines = [json.dumps({"id": "i" * length}).encode() for length in lengths]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join(lines))
    longest = most + len('{"id": ""}')
    fits = [len(line) + (number < len(lines)) <= longest for number, line in enumerate(lines, 1)]
    made, rejected = read(path, longest)
    assert [len(json.loads(line)["id"]) for line in made] == [
        length for length, fit in zip(lengths, fits, strict=True) if fit
    ]
    assert [each.error.line for each in rejected] == [
        number for number, fit in enumerate(fits, 1) if not fit
    ]


@pytest.mark.parametrize("blocks", [False, True])
def test_a_gzip_bomb_is_refused_in_little_memory(tmp_path, blocks):
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(
        gzip.compress(b'{"id":"' + b"x" * 40_000_000, 1) + gzip.compress(b'"}\n{"id":"2"}')
    )
    assert path.stat().st_size < 300_000
    limit_bytes(100_000)
    tracemalloc.start()
    if blocks:
        made, rejected = read(path, 100_000)
        assert [b'{"id":"2"}\n'] == made
        assert [(1, b'{"id":"xxx')] == [(each.error.line, each.raw[:10]) for each in rejected]
    else:
        with pytest.raises(UserError, match="bomb.jsonl.gz: the record has more than 100,000 byt"):
            list(Lines([str(path)]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6_000_000


@pytest.mark.parametrize(
    "depth", [10, 250, 253, 254, 300, 990, 1000, 1023, 1024, 10_000, 1_000_000]
)
@pytest.mark.parametrize("number", ["1", "9" * 30])
def test_deep_records_are_refused(tmp_path, depth, number):
    nested = '{"a":' * depth + number + "}" * depth
    (tmp_path / "deep.jsonl").write_text(nested + '\n{"id":"2","a":[' + "[]," * 300 + "[]]}\n")
    made, rejected = read(tmp_path / "deep.jsonl")
    assert len(made) == 1 + (depth <= 254)
    assert len(rejected) == (depth > 254)
    if depth in (300, 1024):
        assert "nested more than 254 levels deep; fix" in str(rejected[0].error)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_is_too_long_is_told_and_those_before_it_read(tmp_path, name):
    kind, good = ROWS[name]
    path = tmp_path / "rows"
    path.write_bytes(good + b'"(' * 100 + b"\n" + good)
    limit_bytes(50)
    made, cells = [], csv.field_size_limit()
    with pytest.raises(UserError, match="rows: the record has more than 50 bytes"):
        made.extend(kind(str(path)))
    assert csv.field_size_limit() == cells  # the process's own
    assert made == drained(kind(str(write(tmp_path / "good", good))))[0][: len(made)]


def write(path, data):
    path.write_bytes(data)
    return path


def test_a_quote_that_is_never_closed_costs_no_memory(tmp_path):
    path = write(tmp_path / "rows", b'a,b\n1,2\n"' + b"x,y\n" * 100_000)
    limit_bytes(1_000)
    made, rejected = drained(DelimitedRows([str(path)], ","))
    assert {"a": "1", "b": "2"} == made[0]
    assert "larger than field limit (1000)" in str(rejected[0].error)


@pytest.mark.parametrize(("name", "file"), PARTS.items())
@examples(25)
@given(st.data())
def test_spoiled_files_of_other_tools(tmp_path, name, file, data):
    tool, name = name.split()
    part = FormatParts.load(tool, "test").parts[name]
    good = (FORMATS / file).read_bytes()[:2_000]
    path = write(tmp_path / Path(file).name, data.draw(spoiled(good)))
    limit_bytes(data.draw(st.sampled_from([12, 200, MAXIMUM])))
    try:
        rows = part.rows([str(path)])
    except UserError as error:
        assert error.remedy
        return
    made, _ = drained(rows, lambda row: read_records(part, row))
    for record in made:
        dump(record)


RUN = b'{"query_id":"q","doc_id":"d","score":1.5,"rank":1}\n{"query_id":"q","doc_id":2,"score":1}\n'
QRELS = b'{"query_id":"q","doc_id":"d","relevance":1,"start_line":1,"end_line":2}\n' + (
    b'{"query_id":"q","doc_id":2,"relevance":0}\n'
)


@pytest.mark.parametrize(
    ("read", "good"),
    [
        (read_run, RUN),
        (read_run, b"q Q0 d 1 0.5 t\nq Q0 e 2 0.25 t\n"),
        (read_qrels, QRELS),
        (read_qrels, b"q 0 d 1\nq 0 e 0\n"),
        (read_qrels, b"query-id\tcorpus-id\tscore\nq\td\t1\n"),
        (lambda path: list(read_judgements(path)), QRELS),
    ],
)
@examples(50)
@given(st.data())
def test_spoiled_runs_and_judgements(tmp_path, read, good, data):
    path = write(tmp_path / "file", data.draw(spoiled(good)))
    try:
        assert read(str(path))
    except UserError as error:
        assert error.file and error.remedy
