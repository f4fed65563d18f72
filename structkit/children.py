"""Run work in its own process, which can be stopped at any point, even inside a library."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import NoReturn, TypeVar

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
    if not hasattr(os, "fork"):
        return work()
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
