"""`make soak`: a stage in Ray that loses a process at any moment, again and again.

A worker that is killed is replaced, and what it had is done again: the output has the bytes of one
process. Where the command itself ends, it leaves no half output and no process; and run again it
writes those bytes.
"""

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from tests.records.processes import in_session
from tests.soak.program import load

CODE = Path("fixtures/code/train.jsonl")
COPIES = 40  # of the functions: some seconds of work
PATIENCE = 150  # seconds until all have ended: agents of a Ray that was killed take more than 60
STAGE = "mask-entities in.jsonl -o out.jsonl --workers 2"
IN_RAY = ("--ray", "local")
WORKER = re.compile(r"ray::(?!\w+Agent)")  # those are Ray's own
ENDS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}


def started(folder, *flags):
    """A stage at work in a folder, in a session of its own."""
    (folder / "t").mkdir(exist_ok=True)
    places = {"TMPDIR": str(folder / "t"), "PYTHONPATH": os.getcwd(), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "structkit", *STAGE.split(), *flags],
        cwd=folder,
        env=os.environ | places,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # Ctrl-C is heard, also where this runs in the background
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def written(folder):
    """The whole files of a stage, and how many bytes of unfinished ones there are."""
    whole = {path.name: path.read_bytes() for path in folder.glob("out.*")}
    half = 0
    for path in folder.glob(".out.*"):
        with contextlib.suppress(FileNotFoundError):  # it has just got its name
            half += path.stat().st_size
    return whole, half


def finished(folder, *flags):
    """What a stage writes that ends by itself, and what it says."""
    process = started(folder, *flags)
    _, said = process.communicate()
    assert process.returncode == 0, said.decode()
    return written(folder)[0], said


def killed(folder, draw):
    """End a process of a stage at a moment drawn by chance; returns what happened."""
    process = started(folder, *IN_RAY)
    victim, number = draw.choice([("worker", signal.SIGKILL), *(("command", end) for end in ENDS)])
    at_work = victim == "worker" or draw.random() < 0.6  # the others come while Ray starts
    workers = []
    while process.poll() is None:
        names = in_session(process.pid)
        workers = [each for each, name in names.items() if WORKER.match(name)]
        if (workers and written(folder)[1]) if at_work else len(names) > 1:
            break
        time.sleep(0.02)
    time.sleep(draw.random() * (1 if at_work else 4))
    with contextlib.suppress(ProcessLookupError, IndexError):  # it has ended
        os.kill(draw.choice(workers) if victim == "worker" else process.pid, number)
    _, said = process.communicate(timeout=600)
    when = "at work" if at_work else "at the start"
    return victim, number, process, said, when


def check(folder, expected, draw):
    """One kill, what it leaves, and the same command again; returns what must come to an end."""
    victim, number, process, said, when = killed(folder, draw)
    since = time.monotonic()
    if process.returncode == 0:
        assert expected == (written(folder)[0], said), said.decode()
    else:
        assert (victim, process.returncode) == ("command", ENDS[number]), said.decode()
        assert b"Traceback" not in said, said.decode()
        assert {} == written(folder)[0]
        again, _ = finished(folder, *draw.choice([(), IN_RAY]))
        assert expected[0] == again
    assert not written(folder)[1], "an unfinished file is left"
    if number != signal.SIGKILL:  # which lets nobody clean up
        assert [] == [*(folder / "t").iterdir()], "a temporary folder is left"
    how = signal.Signals(number).name
    print(f"{how} for a {victim} {when}: status {process.returncode}")  # noqa: T201
    return process.pid, since


def kill(count, seed):
    """All kills; the first that leaves something broken is shown.

    The next one does not wait until all processes have ended: at the end, all must have.
    """
    with ExitStack() as opened:
        folders = [
            Path(opened.enter_context(TemporaryDirectory(prefix="k-", dir="/tmp")))
            for _ in range(count + 1)  # with names that are short enough for Ray's sockets
        ]
        records = [orjson.loads(line) for line in CODE.read_bytes().splitlines()]
        lines = b"".join(
            orjson.dumps({**record, "id": f"{copy} {record['id']}"}) + b"\n"
            for copy in range(COPIES)
            for record in records
        )
        for folder in folders:
            (folder / "in.jsonl").write_bytes(lines)
        first, *others = folders
        expected = finished(first)
        ending = [
            check(folder, expected, random.Random(f"{seed} {number}"))
            for number, folder in enumerate(others)
        ]
        for session, since in ending:
            while in_session(session) and time.monotonic() - since < PATIENCE * load():
                time.sleep(0.1)
            assert not in_session(session), ("processes are left", in_session(session))
