"""One process at a time: a lock on a file, which ends with the process that holds it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from structkit.progress import waiting

STEP = 0.05  # seconds between two tries, so that Ctrl-C works


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock while the block runs; a second process waits.

    Errors: `OSError` where the file cannot be made or locked.
    """
    handle = _taken(path)
    if handle is None:
        with waiting("another process reads the same files"):
            while (handle := _taken(path)) is None:
                time.sleep(STEP)
    try:
        os.utime(handle)  # when it was used last
        yield
    finally:
        os.close(handle)


def _taken(path: Path) -> int | None:
    """The open file, if nobody else has the lock on it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), os.stat(path)):
            return handle
    except (BlockingIOError, FileNotFoundError):  # it is held, or was removed with its cache
        pass
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def free(path: Path) -> int | None:
    """The open lock of a file that exists, if nobody else has it; to be closed."""
    return _taken(path) if path.exists() else None
