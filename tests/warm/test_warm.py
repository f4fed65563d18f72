"""What a warm process runs is what a start of the program would have run."""

import os
import subprocess

import pytest
from conftest import WARM, environment

LINES = b'{"id": "1", "language": "python", "code": "x = y"}\n{"id": "2"}\n'


@pytest.mark.parametrize(
    "command", ["mask-entities", "mask-entities --on-error skip", "nonsense", "score"]
)
def test_status_and_streams_are_those_of_a_start(run, command):
    expected, found = (run(*command.split(), input=LINES, cold=cold) for cold in (True, False))
    for part in ("returncode", "stdout", "stderr"):
        assert getattr(expected, part) == getattr(found, part), part


def test_it_has_the_folder_the_mask_and_the_variables_of_its_caller(run, tmp_path):
    before = os.umask(0o027)
    try:
        run("select", "-o", "out.jsonl", input=LINES)
        cached = run("ask", ".", "y", env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    finally:
        os.umask(before)
    assert 0o640 == (tmp_path / "out.jsonl").stat().st_mode & 0o777
    assert (tmp_path / "cache").is_dir(), cached.stderr
    # a variable that is read at the start
    done = run("select", "--head", "1", input=LINES, env={"PYTHONVERBOSE": "1"})
    assert b"import 'structkit" in done.stderr


def test_commands_of_a_pipe_run_at_the_same_time():
    pipe = {"stdout": subprocess.PIPE, "env": environment()}
    first = subprocess.Popen([*WARM, "select"], stdin=subprocess.PIPE, **pipe)
    second = subprocess.Popen([*WARM, "select", "--head", "1"], stdin=first.stdout, **pipe)
    first.stdout.close()
    first.stdin.write(LINES)
    first.stdin.close()
    assert b'{"id":"1",' == second.communicate(timeout=240)[0][:10]
    assert 0 == first.wait(240)
