"""Other tools' formats, spoiled: TREC, CSV, brackets, CoNLL-U and all that `convert` reads."""

import csv
from pathlib import Path

import pytest
from hostile.spoiling import examples, spoiled
from hypothesis import given
from hypothesis import strategies as st

from structkit.errors import UserError
from structkit.formats.interchange import FormatParts, Options, read_records
from structkit.formats.rows import BracketRows, ColumnRows, DelimitedRows, ParagraphRows
from structkit.records.jsonl import accepted
from structkit.records.lines import MAXIMUM, limit_bytes
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


def drained(rows, command=iter):
    """What rows give, and their rejects; only a fault of the whole file ends them."""
    rejected = []
    made = []
    try:
        for each in accepted(command, rows, rejected.append):
            made.append(each)
    except UserError as error:
        assert error.file and error.remedy
    for each in rejected:
        assert each.error.line and each.error.remedy
        dump(each.record())
    return made, rejected


@pytest.mark.parametrize("name", ROWS)
@examples(60)
@given(st.data())
def test_spoiled_rows(tmp_path, name, data):
    kind, good = ROWS[name]
    path = tmp_path / "rows"
    path.write_bytes(data.draw(spoiled(good)))
    limit_bytes(data.draw(st.sampled_from([3, 12, MAXIMUM])))
    made, _ = drained(kind(str(path)))
    for row in made:
        dump(row)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_is_too_long_is_told_and_those_before_it_read(tmp_path, name):
    kind, good = ROWS[name]
    path = tmp_path / "rows"
    path.write_bytes(good + b'"(' * 100 + b"\n" + good)
    limit_bytes(50)
    made, rejected = drained(kind(str(path)))
    assert made[:2] == drained(kind(str(write(tmp_path / "good", good))))[0]
    if name != "brackets":  # where a tree ends is not known
        assert "more than 50 bytes" in str(rejected[0].error)
        assert len(rejected[0].raw) <= 1_000


def write(path, data):
    path.write_bytes(data)
    return path


def test_a_quote_that_is_never_closed_costs_no_memory(tmp_path):
    path = write(tmp_path / "rows", b'a,b\n1,2\n"' + b"x,y\n" * 100_000)
    limit_bytes(1_000)
    made, rejected = drained(DelimitedRows([str(path)], ","))
    assert {"a": "1", "b": "2"} == made[0]
    assert "more than 1,000 bytes" in str(rejected[0].error)
    assert csv.field_size_limit() > 1 << 30


@pytest.mark.parametrize(("name", "file"), PARTS.items())
@examples(25)
@given(st.data())
def test_spoiled_files_of_other_tools(tmp_path, name, file, data):
    tool, name = name.split()
    part = FormatParts.named(tool, Options()).part(name)
    good = (FORMATS / file).read_bytes()[:2_000]
    path = write(tmp_path / Path(file).name, data.draw(spoiled(good)))
    try:
        rows = part.rows([str(path)])
    except UserError as error:
        assert error.remedy
        return
    made, _ = drained(rows, lambda rows: read_records(part, rows))
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
