"""Compressed files and Parquet are known by their first bytes, on a pipe and under any name."""

import bz2
import gzip
import os
import pty
import subprocess
import threading
from contextlib import suppress

import pyarrow
import pyarrow.parquet
import pytest
from conftest import WARM, environment

from tests.cli.complaints import GOOD, complaint

RECORD = {"id": "1", "language": "python", "code": "def f(a):\n  return a", "stars": None}


def parquet(path):
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([RECORD] * 3), path)
    return path.read_bytes()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("form", ["gzip", "parquet"])
def test_packed_input(run, tmp_path, form, workers):
    packed = gzip.compress(GOOD * 3) if form == "gzip" else parquet(tmp_path / "whole")
    command = ["mask-entities", "--workers", workers]
    expected = run("mask-entities", input=GOOD * 3).stdout
    assert 3 == expected.count(b"\n")
    (tmp_path / "records.jsonl").write_bytes(packed)
    assert (expected, b"") == shown(run(*command, "records.jsonl"))
    assert (expected, b"") == shown(run(*command, input=packed))
    with open(tmp_path / "records.jsonl", "rb") as file:
        assert (expected, b"") == shown(run(*command, stdin=file))


def shown(done):
    return done.stdout, done.stderr


def test_gzip_on_a_pipe_is_read_as_it_comes():
    packed = gzip.compress(b"".join(b'{"id":"%d","text":"a b"}\n' % n for n in range(200_000)))
    program = subprocess.Popen(
        [*WARM, "parse-trees", "--parser", "balanced"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    )
    half = packed[: len(packed) // 2]

    def send():
        with suppress(BrokenPipeError):  # the reader stops before the end
            program.stdin.write(half)

    threading.Thread(target=send, daemon=True).start()
    assert b'"tree"' in program.stdout.readline()  # before the other half is there
    program.kill()
    program.wait(30)


def test_damaged_parquet(run, tmp_path):
    cut = parquet(tmp_path / "whole")[:-9]
    message = complaint(run("mask-entities", input=cut))
    assert message.startswith("stdin: cannot be read: ")
    assert message.endswith("; it is cut or damaged: copy it again")


def test_what_another_tool_unpacks(run):
    message = complaint(run("mask-entities", input=bz2.compress(GOOD)))
    assert message.startswith("stdin:1: the line is not UTF-8")
    assert "; unpack the file, or " in message


def at_terminal(tmp_path, *flags):
    """What stderr gets where stdin is a terminal on which two lines are typed."""
    terminal, end = pty.openpty()
    program = subprocess.Popen(
        [*WARM, "mask-entities", *flags],
        stdin=end,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(),
    )
    os.close(end)
    os.write(terminal, GOOD + b"\x04")
    output, errors = program.communicate(timeout=60)
    os.close(terminal)
    assert (0, 1) == (program.returncode, output.count(b"masked"))
    return errors


def test_a_terminal_is_told_that_it_is_read(tmp_path, run):
    assert "structkit: reading stdin …\n" == at_terminal(tmp_path).decode()
    assert b"" == at_terminal(tmp_path, "-q")
    assert b"" == run("mask-entities", input=GOOD).stderr
