"""Processes: signals that end this one, and work in one of its own, which can be stopped.

A signal raises, so that the program cleans up as after an error.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import NoReturn, TypeVar

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOCAL = "local"  # the address of a Ray that is started here
PATIENCE = 2.0  # seconds that cleaning up may take undisturbed


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def exit_for(number: int) -> BaseException:
    """What ends a program that got a signal: Ctrl-C, or an exit status of 128 and its number."""
    return KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)


def handled_signals() -> list[signal.Signals]:
    """The signals that end this program: nohup and a shell's `&` make it ignore some."""
    return [each for each in ENDINGS if signal.getsignal(each) != signal.SIG_IGN]


@contextmanager
def raise_at_signals() -> Iterator[None]:
    """Let a signal raise, so that what is open is cleaned up.

    Meanwhile a second signal is ignored, so that no files are left over; where cleaning up takes
    long, it ends the program at once.
    """
    since = 0.0

    def end(number: int, frame: object) -> None:
        nonlocal since
        now = time.monotonic()
        if not since:
            since = now
            raise exit_for(number)
        if now - since > PATIENCE:
            os._exit(128 + number)

    for number in handled_signals():
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in handled_signals():  # nothing is left to clean up
            signal.signal(number, lambda number, _: os._exit(128 + number))


def exit_program(status: int) -> NoReturn:
    """End the program; after a signal, without waiting for threads or libraries."""
    if status > 128:
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):  # it may be closed
                stream.flush()
        os._exit(status)
    sys.exit(status)


T = TypeVar("T")


@contextmanager
def without_script() -> Iterator[None]:
    """Within, processes that multiprocessing spawns do not run the user's script again.

    Otherwise a script would have to guard what it does by `if __name__ == "__main__":`.
    """
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def in_child(work: Callable[[], T], seconds: float) -> T | None:
    """The result of `work`; None if its process is killed, or takes more `seconds` of CPU time."""
    readable, writable = os.pipe()
    child = os.fork()
    if not child:
        os.close(readable)
        _do(work, seconds, writable)
    os.close(writable)
    with open(readable, "rb") as pipe:
        data = pipe.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return None
    if status:
        return work()  # run it again here, so that what it raised is seen
    done: T = pickle.loads(data)
    return done


def _do(work: Callable[[], T], seconds: float, writable: int) -> NoReturn:
    """Run the child, which exits without its parent's exit handlers."""
    status = 1
    try:
        for number in (signal.SIGPROF, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        data = pickle.dumps(work())
        with open(writable, "wb") as pipe:
            pipe.write(data)
        status = 0
    finally:
        os._exit(status)
