"""One process at a time: a lock on a file, which ends with the process that holds it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from structkit.progress import waiting

STEP = 0.05  # seconds between two tries, so that Ctrl-C is heard


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock while the block runs; who comes second waits.

    Errors: `OSError` where the file cannot be made or locked.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _taken(handle):
            with waiting("another process reads the same files"):
                while not _taken(handle):
                    time.sleep(STEP)
        os.utime(handle)  # when it was used last
        yield
    finally:
        os.close(handle)


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
