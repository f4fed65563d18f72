"""Signals, dying workers and closed pipes end a command at once; nothing half-written stays."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import PROGRAM, as_at_a_prompt, environment

from tests.cli.complaints import GOOD
from tests.records.processes import in_session


class Endless:
    """The program at work on an input without an end."""

    def __init__(self, folder, *arguments, stdout=None):
        self.folder = folder
        self.source = subprocess.Popen(["yes", GOOD.decode().strip()], stdout=subprocess.PIPE)
        self.program = subprocess.Popen(
            [*PROGRAM, "mask-entities", *arguments],
            stdin=self.source.stdout,
            stdout=stdout,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment(),
            start_new_session=True,
            preexec_fn=as_at_a_prompt,
        )
        self.source.stdout.close()

    def wait_until_it_writes(self):
        for _ in range(600):
            if any(path.stat().st_size for path in self.folder.glob(".*.partial")):
                return
            time.sleep(0.05)
        raise AssertionError("nothing was written in 30 s")

    def end(self):
        """Exit status and stderr."""
        _, stderr = self.program.communicate(timeout=30)
        return self.program.returncode, stderr.decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.program.kill()
        self.program.wait()
        self.source.kill()
        self.source.wait()


LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("number", "status", "workers", "times"),
    [
        (signal.SIGINT, 130, "2", 20),
        (signal.SIGTERM, 143, "1", 1),
        pytest.param(signal.SIGINT, 130, "1", 20, marks=LONG),
        pytest.param(signal.SIGTERM, 143, "2", 1, marks=LONG),
    ],
)
def test_signals_leave_no_file(tmp_path, number, status, workers, times):
    with Endless(tmp_path, "-o", "out.jsonl", "--workers", workers) as endless:
        endless.wait_until_it_writes()
        assert not (tmp_path / "out.jsonl").exists()
        for _ in range(times):
            with suppress(ProcessLookupError):
                os.killpg(endless.program.pid, number)  # as a terminal does: workers get it too
            time.sleep(0.02)
        ended, stderr = endless.end()
    # a later one may come when all is done
    assert ended == status or times > 1 and ended == -number, stderr
    assert "" == stderr
    assert [] == os.listdir(tmp_path)


SLOW = """
import os, time
from structkit.processes import exit_program, raise_at_signals
from structkit.records.jsonl import Stage
from structkit.records.stream import Stream

def slow(record):
    open(f"started-{os.getpid()}", "w").close()
    time.sleep(60)
    return record

with raise_at_signals():
    try:
        Stream(output="out.jsonl", workers=2).run(Stage(slow))
    except KeyboardInterrupt:
        exit_program(130)
"""


def test_ctrl_c_does_not_wait_for_workers(tmp_path):
    program = subprocess.Popen(
        [sys.executable, "-c", SLOW],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        start_new_session=True,
        preexec_fn=as_at_a_prompt,
    )
    program.stdin.write(GOOD * 15_000)
    program.stdin.close()
    while len(workers := list(tmp_path.glob("started-*"))) < 2:
        time.sleep(0.05)
        assert program.poll() is None
    started = time.monotonic()
    os.killpg(program.pid, signal.SIGINT)
    assert (130, b"") == (program.wait(30), program.stderr.read())
    assert time.monotonic() - started < 3  # a block takes them 60 s and more
    while in_session(program.pid):
        assert time.monotonic() - started < 3  # they have closed stderr, and are ending
    for path in workers:
        path.unlink()
    assert [] == os.listdir(tmp_path)


def test_a_killed_worker_is_an_error(tmp_path):
    with Endless(tmp_path, "-o", "out.jsonl", "--workers", "2") as endless:
        endless.wait_until_it_writes()
        pid = endless.program.pid
        workers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        assert 2 == len(workers)
        os.kill(int(workers[0]), signal.SIGKILL)
        status, stderr = endless.end()
    expected = "structkit: a worker process died; if it ran out of memory, use fewer --workers\n"
    assert (1, expected) == (status, stderr)
    assert [] == os.listdir(tmp_path)


def test_workers_end_with_their_killed_parent(tmp_path):
    with Endless(tmp_path, "-o", "out.jsonl", "--workers", "2") as endless:
        endless.wait_until_it_writes()
        endless.program.kill()
        endless.program.wait()
        for _ in range(100):
            if not in_session(endless.program.pid):
                return
            time.sleep(0.1)
    raise AssertionError("workers run on after 10 s")


@pytest.mark.parametrize("workers", [pytest.param("1", marks=LONG), "2"])
def test_a_closed_pipe_ends_in_silence(tmp_path, workers):
    with Endless(tmp_path, "--workers", workers, stdout=subprocess.PIPE) as endless:
        first = endless.program.stdout.readline()
        endless.program.stdout.close()
        assert b'"masked"' in first
        status = endless.program.wait(30)
        assert (0, b"") == (status, endless.program.stderr.read())
        assert -signal.SIGPIPE == endless.source.wait(30)


def test_help_into_a_closed_pipe(run):
    read, write = os.pipe()
    os.close(read)
    done = run("--help", stdout=write, cold=True)
    os.close(write)
    assert (0, b"") == (done.returncode, done.stderr)


# an import that takes long; one of a library that makes another error of Ctrl-C
IMPORTS = {
    "typer": "import sys, time\nprint('here', file=sys.stderr, flush=True)\ntime.sleep(30)\n",
    "orjson": "import sys, time\nprint('here', file=sys.stderr, flush=True)\n"
    "try: time.sleep(30)\nexcept BaseException: raise ImportError('none')\n",
}


@pytest.mark.parametrize("name", IMPORTS)
def test_ctrl_c_during_imports_is_silent(tmp_path, name):
    (tmp_path / f"{name}.py").write_text(IMPORTS[name])
    with subprocess.Popen(
        [*PROGRAM, "select"],
        env=environment(PYTHONPATH=str(tmp_path)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as program:
        assert program.stderr and b"here\n" == program.stderr.readline()
        program.send_signal(signal.SIGINT)
        assert (b"", 130) == (program.stderr.read(), program.wait(20))
