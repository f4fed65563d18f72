"""What is kept of files between questions: rows with a checksum.

SQLite writes it in one transaction: a killed process leaves what was there before. Each row has a
checksum, because SQLite is told not to wait for the disk: a cache is not worth that.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

import orjson

from structkit.records.jsonl import Record

SCHEMA = """
PRAGMA synchronous = OFF;
CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, row BLOB, sum INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS texts (path TEXT PRIMARY KEY, records BLOB, sum INTEGER);
CREATE TABLE IF NOT EXISTS parts (name TEXT PRIMARY KEY, data BLOB, sum INTEGER);
"""
# errors of SQLite about the system, not about the content of the file
REFUSALS = {
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN),
    *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM),
}


class DamagedError(Exception):
    """The content of the cache is not what was written."""


class File(NamedTuple):
    """What is known of a file: its state on the disk, the hash of its bytes, its passages."""

    path: str
    state: str  # size, times and number; empty for a file in an archive
    sure: bool  # whether another content would have another state
    hash: str
    passages: int = 0
    problem: str = ""  # why it has no passages


class Store:
    """The files, their passages and what is made from these; in memory if `place` is None."""

    def __init__(self, place: Path | None) -> None:
        self.place = place
        if place is not None:  # what it holds of files is its user's alone
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open(place, flags, 0o600)
            os.fchmod(file, 0o600)
            os.close(file)
        self._connection = sqlite3.connect(place or ":memory:", isolation_level=None)
        self._connection.text_factory = _text

    def __enter__(self) -> Self:
        try:
            self._connection.executescript(SCHEMA)
        except BaseException:
            self._connection.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Make all changes of the block, or none."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def files(self) -> dict[str, File]:
        """The known files, by path."""
        files: dict[str, File] = {}
        for path, row, total in self._connection.execute("SELECT path, row, sum FROM files"):
            file = File(path, *orjson.loads(_checked(path, row, total)))
            files[path] = file
        return files

    def put(self, file: File, records: bytes | None = None) -> None:
        """Keep a file, and the lines of its records if they are new."""
        row = orjson.dumps(file[1:])
        self._put("files", "path", "row", file.path, row)
        if records is not None:
            self._put("texts", "path", "records", file.path, records)

    def drop(self, paths: Iterable[str]) -> None:
        """Forget files."""
        rows = [(path,) for path in paths]
        self._connection.executemany("DELETE FROM files WHERE path = ?", rows)
        self._connection.executemany("DELETE FROM texts WHERE path = ?", rows)

    def records(self, path: str) -> list[Record]:
        """The passages of a file."""
        data = self._one("texts", "path", "records", path)
        if data is None:
            raise DamagedError(f"the passages of {path} are missing")
        return [orjson.loads(line) for line in data.splitlines()]

    def parts(self, names: Iterable[str]) -> dict[str, bytes] | None:
        """Data by name; None if any is missing."""
        kept = {name: self._one("parts", "name", "data", name) for name in names}
        whole = {name: data for name, data in kept.items() if data is not None}
        return whole if len(whole) == len(kept) else None

    def put_parts(self, parts: Mapping[str, bytes]) -> None:
        """Keep data under names."""
        for name, data in parts.items():
            self._put("parts", "name", "data", name, data)

    def _put(self, table: str, key: str, column: str, name: str, data: bytes) -> None:
        self._connection.execute(
            f"INSERT OR REPLACE INTO {table} ({key}, {column}, sum) VALUES (?, ?, ?)",
            (name, data, _sum(name, data)),
        )

    def _one(self, table: str, key: str, column: str, name: str) -> bytes | None:
        statement = f"SELECT {column}, sum FROM {table} WHERE {key} = ?"
        row = self._connection.execute(statement, (name,)).fetchone()
        return None if row is None else _checked(name, *row)


def _sum(name: str, data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(name.encode()))


def _checked(name: object, data: object, total: object) -> bytes:
    if not (isinstance(name, str) and isinstance(data, bytes) and total == _sum(name, data)):
        raise DamagedError(f"{name!r} is not as it was written")
    return data


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise DamagedError("a name is not as it was written") from None


def refused(error: sqlite3.Error) -> bool:
    """Whether the system does not allow the cache to be used, whatever is in it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in REFUSALS
