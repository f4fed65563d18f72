"""The program, run by a process of its own or by a warm fork, in its own folder, for a while."""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import NoReturn

LIMIT = 10.0  # seconds of work that a user waits at most for what is wrong
MEMORY = 6 << 30
FILE = 1 << 28  # bytes of the largest file

# what transformers, torch and others import late
LATE = (
    "faiss matplotlib.pyplot nltk.chunk nltk.tag pyarrow.parquet sklearn.manifold torch._dynamo "
    "transformers.models.bert.modeling_bert transformers.models.roberta.modeling_roberta "
    "transformers.models.t5.modeling_t5 transformers.models.bert.tokenization_bert "
    "matplotlib.backends.backend_svg matplotlib.backends.backend_agg scipy.stats rich.progress"
)


@dataclass(frozen=True)
class Outcome:
    """What a run of the program left: a status of None is one that took too long."""

    status: int | None
    stdout: bytes
    stderr: str
    seconds: float  # of work
    left: bool  # whether a process of it lived on


def warm(commands: Iterable[str]) -> None:
    """Import what these commands import, so that a fork starts at once."""
    import structkit_plugins

    import structkit

    for command in commands:
        importlib.import_module(f"structkit.commands.{command.replace('-', '_')}")
    for package in (structkit, structkit_plugins) if "torch" in sys.modules else ():
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.name.endswith(("__main__", ".stanza")):
                importlib.import_module(module.name)
    for name in LATE.split() if "torch" in sys.modules else ():
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a fork shares what it does not write


def forked(
    arguments: Sequence[str], folder: Path, stdin: Path | None = None, *, limit: float = LIMIT
) -> Outcome:
    """The program in a forked child of this process."""
    return _run(arguments, folder, stdin, limit, _inside)


def subprocessed(
    arguments: Sequence[str], folder: Path, stdin: Path | None = None, *, limit: float = 2 * LIMIT
) -> Outcome:
    """The program as a user starts it; its start counts too."""
    return _run(arguments, folder, stdin, limit, _outside)


def _inside(arguments: Sequence[str]) -> int:
    from structkit.cli import main

    tempfile.tempdir = None  # TMPDIR is another one now
    sys.argv = ["structkit", *arguments]
    sys.modules["__main__"] = ModuleType("__main__")  # what multiprocessing would import again
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)
    sys.stderr = open(2, "w", errors="backslashreplace", closefd=False)
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _outside(arguments: Sequence[str]) -> NoReturn:
    os.execv(sys.executable, [sys.executable, "-m", "structkit", *arguments])


def _run(
    arguments: Sequence[str], folder: Path, stdin: Path | None, limit: float, start: object
) -> Outcome:
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        pid = os.fork()
        if pid == 0:
            _child(arguments, folder, stdin, (stdout.fileno(), stderr.fileno()), start)
        status, seconds = _wait(pid, limit)
        left = _left(pid)
        stdout.seek(0), stderr.seek(0)
        return Outcome(
            status if seconds < limit else None,
            stdout.read(),
            stderr.read().decode("utf-8", "replace"),
            seconds,
            left,
        )


def _child(arguments, folder, stdin, outputs, start) -> NoReturn:  # type: ignore[no-untyped-def]
    status = 1
    try:
        os.setsid()
        scratch = folder.parent / f"{folder.name}.tmp"
        scratch.mkdir(exist_ok=True)
        os.environ.update(TMPDIR=str(scratch), COLUMNS="80", OMP_NUM_THREADS="1", NO_COLOR="1")
        for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):  # one user of all cases
            os.environ[name] = str(folder.parent / "user" / name)
        os.dup2(os.open(stdin or os.devnull, os.O_RDONLY), 0)
        for number, handle in enumerate(outputs, 1):
            os.dup2(handle, number)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
        os.chdir(folder)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        status = start(arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stderr.flush()
        os._exit(status)


def _wait(pid: int, limit: float) -> tuple[int | None, float]:
    """The exit status (None for one that was killed as it took too long), and seconds of work."""
    handle = os.pidfd_open(pid)
    try:
        waiting = select.poll()
        waiting.register(handle, select.POLLIN)
        started = time.monotonic()
        in_time = True
        while in_time and not waiting.poll(250):
            in_time = time.monotonic() - started < _allowed(pid, limit)
    finally:
        os.close(handle)
    if not in_time:
        os.killpg(pid, signal.SIGKILL)
    _, status, used = os.wait4(pid, 0)
    seconds = used.ru_utime + used.ru_stime
    return os.waitstatus_to_exitcode(status) if in_time else None, seconds


def _allowed(pid: int, limit: float) -> float:
    """Seconds that a process may take on a machine with other work: it waits for its turn."""
    queued = int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    return limit * load() + queued


def load() -> float:
    """How many times longer things take on a machine with other work."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _left(group: int) -> bool:
    """Whether a process of the group lives on; it is killed."""
    for _ in range(int(40 * load())):  # a helper ends when its parent has
        try:
            os.killpg(group, 0)
        except (ProcessLookupError, PermissionError):
            return False
        time.sleep(0.05)
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    return True
