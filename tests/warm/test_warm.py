"""What a warm process runs is what a start of the program would have run."""

import os
import signal
import subprocess
import time

import pytest
from conftest import PROGRAM, WARM, environment, first_difference

LINES = b'{"id": "1", "language": "python", "code": "x = y"}\n{"id": "2"}\n'


def shown(done):
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "command",
    ["mask-entities", "mask-entities --on-error skip", "select --head 1", "nonsense", "score"],
)
def test_status_and_streams_are_those_of_a_start(run, command):
    expected, found = (run(*command.split(), input=LINES, cold=cold) for cold in (True, False))
    assert shown(expected) == shown(found)


def test_it_has_the_folder_the_mask_and_the_variables_of_its_caller(run, tmp_path):
    before = os.umask(0o027)
    try:
        run("select", "-o", "out.jsonl", input=LINES)
        cached = run("ask", ".", "y", env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    finally:
        os.umask(before)
    assert 0o640 == (tmp_path / "out.jsonl").stat().st_mode & 0o777
    assert (tmp_path / "cache").is_dir(), cached.stderr


def test_a_variable_that_is_read_at_the_start_is_heeded(run):
    done = run("select", "--head", "1", input=LINES, env={"PYTHONVERBOSE": "1"})
    assert b"import 'structkit" in done.stderr


def test_commands_of_a_pipe_run_at_the_same_time(tmp_path):
    first = subprocess.Popen(
        [*WARM, "select"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    )
    second = subprocess.Popen(
        [*WARM, "select", "--head", "1"],
        stdin=first.stdout,
        stdout=subprocess.PIPE,
        env=environment(),
    )
    first.stdout.close()
    first.stdin.write(LINES)
    first.stdin.close()
    assert (
        LINES.splitlines(keepends=True)[0].replace(b": ", b":").replace(b", ", b",")
        == (second.communicate(timeout=60)[0])
    )
    assert 0 == first.wait(60)


def test_with_its_caller_the_run_ends(tmp_path):
    program = subprocess.Popen(
        [*WARM, "select", "-o", "out.jsonl"], stdin=subprocess.PIPE, cwd=tmp_path, env=environment()
    )
    program.stdin.write(LINES)
    program.stdin.flush()
    until = time.monotonic() + 60
    while not any(tmp_path.iterdir()):  # it has begun
        assert time.monotonic() < until
        time.sleep(0.01)
    program.kill()
    assert -signal.SIGKILL == program.wait()
    assert not (tmp_path / "out.jsonl").exists()


def test_a_start_is_the_installed_program():
    assert "structkit" == PROGRAM[-1]


def test_of_long_texts_the_first_difference_is_told():
    left, right = "same\n" * 400 + "x" * 900 + "1", "same\n" * 400 + "x" * 900 + "2"
    told = first_difference(left, right)
    assert told.startswith("line 401: 'xxx")
    assert len(told) < 140
