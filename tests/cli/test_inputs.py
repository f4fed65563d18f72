"""Inputs that cannot be read, and empty ones, give an error of one line."""

import gzip
import os
from pathlib import Path

import pytest

from tests.cli.complaints import GOOD, complaint


def corrupt(path):
    whole = bytearray(gzip.compress(GOOD * 1000, mtime=0))
    whole[len(whole) // 2] ^= 0xFF
    path.write_bytes(whole)


def cut_short(path):
    path.write_bytes(gzip.compress(GOOD * 1000, mtime=0)[:-9])


INPUTS = {
    "folder": ("in", Path.mkdir, "in: is a folder; name the files in it"),
    "corrupt-gz": ("in.gz", corrupt, "in.gz: cannot be read: "),
    "short-gz": ("in.gz", cut_short, "in.gz: cannot be read: Compressed file ended"),
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name, make, problem", INPUTS.values(), ids=INPUTS)
def test_an_input_that_cannot_be_read(run, tmp_path, name, make, problem, workers):
    make(tmp_path / name)  # type: ignore[operator]
    before = os.listdir(tmp_path)
    # not a record is at fault: --on-error skip does not skip over a file
    flags = ["--on-error", "skip", "--workers", workers, "-o", "out.jsonl"]
    message = complaint(run("mask-entities", *flags, name))
    assert message.startswith(problem)
    assert before == os.listdir(tmp_path)


def test_a_missing_file_is_told_before_any_work(run, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(GOOD)
    done = run("mask-entities", "a.jsonl", "b.jsonl")
    told = "b.jsonl: cannot be read: No such file or directory; check its name and permissions"
    assert told == complaint(done)
    assert b"" == done.stdout


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("workers", [1, 2])
def test_an_input_that_fails_while_it_is_read(run, workers):
    done = run("mask-entities", "--workers", workers, "/proc/self/mem")
    told = "/proc/self/mem: cannot be read: Input/output error; check its name and permissions"
    assert told == complaint(done)


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"], ids=["none", "blank", "bom"])
def test_an_empty_input_is_said(run, tmp_path, content):
    (tmp_path / "in.jsonl").write_bytes(content)
    done = run("mask-entities", "in.jsonl", "-", "-o", "out.jsonl")
    assert "no records; the output is empty" == complaint(done, 0)
    assert b"" == (tmp_path / "out.jsonl").read_bytes()
