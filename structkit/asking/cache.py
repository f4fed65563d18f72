"""Work with a cache in any state: one process at a time, rebuilt where it is damaged."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from structkit.asking.lock import free, locked
from structkit.asking.store import DamagedError, Store, refused
from structkit.errors import flag
from structkit.progress import say

T = TypeVar("T")
LONG = 90 * 24 * 3600  # seconds
# SQLite's own message may quote what is not text any more
DAMAGE = (DamagedError, UnicodeDecodeError)


def kept_files(place: Path) -> list[Path]:
    """All files of a cache: SQLite's, what it may have left beside it, and the lock."""
    beside = [Path(f"{place}{ending}") for ending in ("", "-journal", "-wal", "-shm")]
    return [*beside, place.with_suffix(".lock")]


def with_cache(place: Path | None, work: Callable[[Store], T]) -> T:
    """The result of `work` with the cache in a file, or with an empty one in memory.

    A damaged file is removed, and where the system allows no file, nothing is kept; both are
    reported.
    """
    if place is not None:
        try:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not place.exists():
                forget_old(place.parent)
            with locked(kept_files(place)[-1]):
                return _with_file(place, work)
        except (OSError, sqlite3.DatabaseError) as error:
            reason = getattr(error, "strerror", None) or error
            remedy = f"name another folder with {flag('cache')}"
            say(f"nothing is kept in {place.parent}: {reason}; {remedy}")
    with Store(None) as store:
        return work(store)


def forget_old(folder: Path) -> None:
    """Remove caches that have not been used for long."""
    for lock in folder.glob("*.lock"):
        if time.time() - lock.stat().st_mtime > LONG:
            handle = free(lock)
            if handle is not None:
                for path in kept_files(lock.with_suffix(".sqlite")):
                    path.unlink(missing_ok=True)
                os.close(handle)


def _with_file(place: Path, work: Callable[[Store], T]) -> T:
    try:
        with Store(place) as store:
            return work(store)
    except (*DAMAGE, sqlite3.DatabaseError) as error:
        if isinstance(error, sqlite3.Error) and refused(error):
            raise
        say(f"the cache {place} is damaged ({error}); it is built again")
    for path in kept_files(place)[:-1]:  # all but the lock, which is held
        path.unlink(missing_ok=True)
    with Store(place) as store:
        return work(store)
