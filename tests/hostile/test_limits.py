"""Input that is made to fill memory, to nest without end, or to lead out of its place."""

import csv
import gzip
import json
import os
import struct
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hostile.good import parquet, tarred, zipped
from hostile.spoiling import examples
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib import format as npy

import structkit
from structkit import html_variants
from structkit.collecting.units import Collector, Units
from structkit.collecting.walking import LeftOut, Walk, WalkOptions
from structkit.embeddings.reading import read_embeddings, read_parquet
from structkit.errors import UserError
from structkit.formats.rows import BracketRows, ColumnRows, DelimitedRows
from structkit.records.jsonl import (
    DEFAULT_MAX_RECORD_BYTES,
    MAX_RECORD_VARIABLE,
    Lines,
    Records,
    accepted,
)


def limit_bytes(most):
    os.environ[MAX_RECORD_VARIABLE] = str(most)


@pytest.fixture(autouse=True)
def limit():
    yield
    limit_bytes(DEFAULT_MAX_RECORD_BYTES)


def read(path):
    """The records of a file, and its rejects."""
    rejected = []
    return [*accepted(dict, Records.read([str(path)]), rejected.append)], rejected


@examples(60)
@given(st.lists(st.sampled_from([0, 1, 5, 9, 10, 11, 70_000]), max_size=6), st.integers(8, 12))
def test_lines_that_are_too_long_are_told_and_the_others_read(tmp_path, lengths, most):
    lines = [json.dumps({"id": "i" * length}).encode() for length in lengths]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join(lines))
    limit_bytes(longest := most + len('{"id": ""}'))
    fits = [len(line) + (number < len(lines)) <= longest for number, line in enumerate(lines, 1)]
    made, rejected = read(path)
    fitting = [length for length, fit in zip(lengths, fits, strict=True) if fit]
    assert fitting == [len(each["id"]) for each in made]
    too_long = [number for number, fit in enumerate(fits, 1) if not fit]
    assert too_long == [each.error.line for each in rejected]


@pytest.mark.parametrize("blocks", [False, True])
def test_a_gzip_bomb_is_refused_in_little_memory(tmp_path, blocks):
    path = tmp_path / "bomb.jsonl.gz"
    bomb = gzip.compress(b'{"id":"' + b"x" * 40_000_000, 1)
    path.write_bytes(bomb + gzip.compress(b'"}\n{"id":"2"}'))
    assert path.stat().st_size < 300_000
    limit_bytes(100_000)
    tracemalloc.start()
    if blocks:
        made, rejected = read(path)
        assert [{"id": "2"}] == made
        assert [(1, b'{"id":"xxx')] == [(each.error.line, each.raw[:10]) for each in rejected]
    else:
        with pytest.raises(UserError, match="bomb.jsonl.gz: the record has more than 100,000 byt"):
            list(Lines([str(path)]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6_000_000


@pytest.mark.parametrize("depth", [10, 253, 254, 255, 300, 1000, 1024, 10_000, 1_000_000])
@pytest.mark.parametrize("number", ["1", "9" * 30])
def test_deep_records_are_refused(tmp_path, depth, number):
    nested = '{"a":' * depth + number + "}" * depth
    (tmp_path / "deep.jsonl").write_text(nested + '\n{"id":"2","a":[' + "[]," * 300 + "[]]}\n")
    made, rejected = read(tmp_path / "deep.jsonl")
    assert (1 + (depth <= 254), depth > 254) == (len(made), len(rejected))
    if depth in (300, 1024):
        assert "nested more than 254 levels deep; fix" in str(rejected[0].error)


ROWS = {
    "columns": (lambda path: ColumnRows([path], ("a", "b")), b"1 2\n3 4\n"),
    "cells": (lambda path: DelimitedRows([path], ","), b'a,b\n1,2\n"3\n""x",4\n'),
    "brackets": (lambda path: BracketRows([path]), b"(S (A a)\n (B b))\n(S (C c))\n"),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_is_too_long_is_told_and_those_before_it_read(tmp_path, name):
    kind, good = ROWS[name]
    path = tmp_path / "rows"
    path.write_bytes(good)
    expected = [*kind(str(path))]
    path.write_bytes(good + b'"(' * 100 + b"\n" + good)
    limit_bytes(50)
    made, cells = [], csv.field_size_limit()
    with pytest.raises(UserError, match="rows: the record has more than 50 bytes"):
        made.extend(kind(str(path)))
    assert cells == csv.field_size_limit()  # the process's own
    assert made and made == expected[: len(made)]


def test_a_quote_that_is_never_closed_costs_no_memory(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(b'a,b\n1,2\n"' + b"x,y\n" * 100_000)
    limit_bytes(1_000)
    rejected = []
    rows = accepted(dict, DelimitedRows([str(path)], ","), rejected.append)
    first, *_ = rows
    assert {"a": "1", "b": "2"} == first
    assert "larger than field limit (1000)" in str(rejected[0].error)


@pytest.mark.parametrize("text", [b"none", b'a "b"'])  # a column's name, a value
def test_texts_of_parquet_that_are_no_utf8_are_told(tmp_path, text):
    path = tmp_path / "a.parquet"
    good = parquet([{"id": "1", "text": 'a "b"', "none": None}])
    path.write_bytes(good.replace(text, text[:-1] + b"\xe9"))
    for reading in (Records.read([str(path)]), map(read_parquet, [str(path)])):
        with pytest.raises(UserError, match="a.parquet: "):
            list(reading)


@pytest.mark.parametrize(
    "header",
    [
        b"(" * 5_000,
        b"[" * 50_000 + b"]" * 50_000,
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"(" * 900 + b")" * 900 + b")}",
        b"-" * 9_000 + b"1",
        b"{'descr': __import__('os').system('touch run'), 'fortran_order': False, 'shape': (1, 1)}",
        b"9" * 9_000,
    ],
)
def test_headers_that_are_hostile(tmp_path, monkeypatch, header):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.npy").write_bytes(npy.magic(2, 0) + struct.pack("<I", len(header)) + header)
    with pytest.raises(UserError):
        read_embeddings([str(tmp_path / "a.npy")])
    assert not (tmp_path / "run").exists()


def found(path):
    """The sources in an archive, and what is left out."""
    walked = [*Walk(WalkOptions(max_file_bytes=100_000)).sources([str(path)])]
    left = [each for each in walked if isinstance(each, LeftOut)]
    return [each for each in walked if each not in left], left


PACKED = {"a.zip": zipped, "a.tar.gz": tarred}
OUTSIDE = ("../out.py", "/out.py", "a/../../out.py", "..\\out.py", "a/b/../../..")


@pytest.mark.parametrize("archive", PACKED)
@pytest.mark.parametrize("name", OUTSIDE)
def test_names_that_lead_outside_are_refused(tmp_path, archive, name):
    path = tmp_path / archive
    path.write_bytes(PACKED[archive]({name: b"x = 1\n"}))
    sources, left = found(path)
    assert not sources
    assert "leads out of the archive" in left[0].problem
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize("archive", PACKED)
def test_bombs_in_archives_are_refused(tmp_path, archive):
    path = tmp_path / archive
    path.write_bytes(PACKED[archive]({"a.py": b"x" * 20_000_000, "b.py": b"x = 1\n"}))
    assert path.stat().st_size < 100_000
    done = Collector(Units(max_file_bytes=100_000))(found(path)[0])
    assert 1 == done.records
    assert ["has more than 100,000 bytes"] == [each.problem for each in done.left_out]


def test_a_size_that_lies_is_refused(tmp_path):
    data = zipped({"a.py": b"x" * 5_000})
    size, lie = (5_000).to_bytes(4, "little"), (5).to_bytes(4, "little")
    assert size in data
    (tmp_path / "a.zip").write_bytes(data.replace(size, lie))
    sources, left = found(tmp_path / "a.zip")
    assert not sources
    assert "cannot be read" in left[0].problem


@pytest.mark.parametrize(
    ("name", "text"), [("a.ts", "a<b,\n" * 15_000), ("a.py", ".. note::\n" * 15_000)]
)
def test_code_that_takes_memory_without_end_is_skipped(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "structkit", "collect", str(tmp_path), "--workers", "1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        told = process.stderr.read()
        _, process.returncode, usage = os.wait4(process.pid, 0)
    assert b"1 x parsing takes longer than 5 s, or too much memory" in told
    if sys.platform == "linux":
        assert usage.ru_maxrss < 2_000_000  # kilobytes, of its own children too


@pytest.mark.long
def test_prose_of_more_than_twenty_megabytes_is_read(tmp_path):
    (tmp_path / "a.txt").write_text("Tea is a drink made of leaves in hot water. \n" * 500_000)
    found = structkit.collect(str(tmp_path), max_file_bytes=10**8, workers=1, on_error="fail")
    assert 500_000 == sum(1 for _ in found)


def test_pipes_beside_embeddings_are_refused(tmp_path):
    np.save(tmp_path / "e.npy", np.ones((2, 3), np.float32))
    for name in ("e.ids.txt", "e.meta.json"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(UserError, match=f"{name}: is a pipe"):
            read_embeddings([str(tmp_path / "e.npy")])
        (tmp_path / name).unlink()
        (tmp_path / "e.ids.txt").write_text("a\nb\n")


MARKS = ("<div>", "<b>", "<table><tr><td>", "&#", "<![CDATA[", "<a href='", "- ", "> ", "[", "*")


@pytest.mark.parametrize("mark", MARKS)
def test_documents_that_only_open(mark):
    for source in ("html", "markdown"):
        try:
            list(html_variants([{"id": "1", source: f"{mark * 3_000}a"}], from_=source))
        except UserError as error:
            assert error.remedy
