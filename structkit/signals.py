"""Signals that end the program: they raise, so that it cleans up as after an error."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE = 2.0  # seconds that cleaning up may take undisturbed


def ended_by(number: int) -> BaseException:
    """What ends a program that got a signal: Ctrl-C, or an exit status of 128 and its number."""
    return KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)


def heard() -> list[signal.Signals]:
    """The signals that end this program: nohup and a shell's `&` make it ignore some."""
    return [each for each in ENDINGS if signal.getsignal(each) != signal.SIG_IGN]


@contextmanager
def ending() -> Iterator[None]:
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
            raise ended_by(number)
        if now - since > PATIENCE:
            os._exit(128 + number)

    for number in heard():
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in heard():  # nothing is left to clean up
            signal.signal(number, lambda number, _: os._exit(128 + number))


def leave(status: int) -> NoReturn:
    """End the program; after a signal, without waiting for threads or libraries."""
    if status > 128:
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):  # it may be closed
                stream.flush()
        os._exit(status)
    sys.exit(status)
