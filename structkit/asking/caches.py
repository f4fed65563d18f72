"""The caches: list them with their folders, and remove them.

Tests: tests/commands/test_ask.py.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from structkit.asking.cache import FOLDER, PARTS, files_of_cache, hold_lock, open_existing
from structkit.errors import UserError
from structkit.records.jsonl import Record


def caches(folder: Path) -> Iterator[Record]:
    """Yield each cache in a folder of caches: its `folder`, `exists`, `bytes`, `cache`.

    `folder` is empty where the cache cannot be read; it may also be a file or an archive.
    """
    for place in sorted(folder.glob("*.sqlite")):
        target = _target(place)
        size = sum(os.path.getsize(each) for each in files_of_cache(place) if each.exists())
        known = {"folder": os.fsdecode(target), "exists": os.path.exists(target)}
        yield {**known, "bytes": size, "cache": str(place)}


def clear(folder: Path, target: str) -> Iterator[Record]:
    """Remove the caches of a target, which need not exist; those that were removed."""
    for each in list(caches(folder)):
        if each["folder"] in (os.path.realpath(target), os.path.abspath(target)):
            place = Path(each["cache"])
            try:
                with hold_lock(place):  # another process may read it
                    for file in files_of_cache(place):
                        file.unlink(missing_ok=True)
            except OSError as error:
                problem = f"cannot be removed: {error.strerror}"
                raise UserError(problem, "ask its owner to").at(str(place)) from None
            yield each


def _target(place: Path) -> bytes:
    """Return the target of a cache; empty if it cannot be read."""
    query = f"SELECT data FROM {PARTS} WHERE name = ?"
    try:
        with closing(open_existing(place)) as connection:
            row = connection.execute(query, (FOLDER,)).fetchone()
    except sqlite3.Error:
        return b""
    return bytes(row[0]) if row else b""
