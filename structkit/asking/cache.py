"""What is kept of files between questions: rows with a checksum, for one process at a time.

SQLite writes it in one transaction: a killed process leaves what was there before. Each row has a
checksum, because SQLite is told not to wait for the disk: a cache is not worth that.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import orjson

import structkit
from structkit.errors import flag
from structkit.progress import say, waiting
from structkit.records.jsonl import Record
from structkit.registry import plugins

T = TypeVar("T")

FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
MARGIN = 2_000_000_000  # nanoseconds: some file systems count in seconds
FORMAT = 4  # of the cache: with another number it is another cache
LONG = 90 * 24 * 3600  # seconds after which a cache that nobody uses is removed
FILES, TEXTS, PARTS = "files", "texts", "parts"
SCHEMA = "PRAGMA synchronous = OFF;" + "".join(
    f"CREATE TABLE IF NOT EXISTS {table} (name TEXT PRIMARY KEY, data BLOB, sum INTEGER);"
    for table in (FILES, TEXTS, PARTS)
)
# errors of SQLite about the system, not about the content of the file
REFUSALS = {
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN),
    *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM),
}


class DamagedError(Exception):
    """The content of the cache is not what was written."""


# SQLite's own message may quote what is not text any more
DAMAGE = (DamagedError, UnicodeDecodeError, sqlite3.DatabaseError)


def cache_file(folder: Path, target: str, settings: Mapping[str, Any]) -> Path:
    """The cache of a target that is read with these settings, by this version and plugins."""
    found = [each for each in plugins() if each.kind == "language"]
    languages = [(each.pack, each.name, each.path.stat().st_mtime_ns) for each in found]
    key = [FORMAT, structkit.__version__, languages, os.fsdecode(target), settings]
    # file names may not be valid Unicode
    name = hashlib.blake2b(ascii(key).encode(), digest_size=12).hexdigest()
    return folder / f"{name}.sqlite"


def files_of_cache(place: Path) -> list[Path]:
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
                remove_unused(place.parent)
            with hold_lock(files_of_cache(place)[-1]):
                return _with_file(place, work)
        except (OSError, sqlite3.DatabaseError) as error:
            reason = getattr(error, "strerror", None) or error
            remedy = f"name another folder with {flag('cache')}"
            say(f"nothing is kept in {place.parent}: {reason}; {remedy}")
    with Store(None) as store:
        return work(store)


def _with_file(place: Path, work: Callable[[Store], T]) -> T:
    try:
        with Store(place) as store:
            return work(store)
    except DAMAGE as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in REFUSALS:
            raise
        say(f"the cache {place} is damaged ({error}); it is built again")
    for path in files_of_cache(place)[:-1]:  # all but the lock, which is held
        path.unlink(missing_ok=True)
    with Store(place) as store:
        return work(store)


def remove_unused(folder: Path) -> None:
    """Remove caches that have not been used for long."""
    for lock in folder.glob("*.lock"):
        if time.time() - lock.stat().st_mtime > LONG:
            for kept in files_of_cache(lock.with_suffix(".sqlite")):
                kept.unlink(missing_ok=True)


# not filelock: its import alone takes a twentieth of an answer
@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold a lock while the block runs, which ends with the process; a second process waits.

    Errors: `OSError` where the file cannot be made or locked.
    """
    lock = os.open(path, FLAGS, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with waiting("another process reads the same files"):
                fcntl.flock(lock, fcntl.LOCK_EX)
        os.utime(lock)  # when it was used last
        yield
    finally:
        os.close(lock)


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
            file = os.open(place, FLAGS, 0o600)
            os.fchmod(file, 0o600)
            os.close(file)
        self._connection = sqlite3.connect(place or ":memory:", isolation_level=None)
        # a name that is no text any more has another checksum
        self._connection.text_factory = lambda name: name.decode(errors="replace")

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
        rows = self._connection.execute(f"SELECT name, data, sum FROM {FILES}")
        return {
            path: File(path, *orjson.loads(_verify(path, row, total))) for path, row, total in rows
        }

    def put(self, file: File, records: bytes | None = None) -> None:
        """Keep a file, and the lines of its records if they are new."""
        self._put(FILES, file.path, orjson.dumps(file[1:]))
        if records is not None:
            self._put(TEXTS, file.path, records)

    def drop(self, paths: Iterable[str]) -> None:
        """Forget files."""
        rows = [(path,) for path in paths]
        for table in (FILES, TEXTS):
            self._connection.executemany(f"DELETE FROM {table} WHERE name = ?", rows)

    def records(self, path: str) -> list[Record]:
        """The passages of a file."""
        data = self._one(TEXTS, path)
        if data is None:
            raise DamagedError(f"the passages of {path} are missing")
        return [orjson.loads(line) for line in data.splitlines()]

    def parts(self, names: Iterable[str]) -> dict[str, bytes] | None:
        """Data by name; None if any is missing."""
        kept = {name: self._one(PARTS, name) for name in names}
        whole = {name: data for name, data in kept.items() if data is not None}
        return whole if len(whole) == len(kept) else None

    def put_parts(self, parts: Mapping[str, bytes]) -> None:
        """Keep data under names."""
        for name, data in parts.items():
            self._put(PARTS, name, data)

    def _put(self, table: str, name: str, data: bytes) -> None:
        statement = f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)"
        self._connection.execute(statement, (name, data, _sum(name, data)))

    def _one(self, table: str, name: str) -> bytes | None:
        statement = f"SELECT data, sum FROM {table} WHERE name = ?"
        row = self._connection.execute(statement, (name,)).fetchone()
        return None if row is None else _verify(name, *row)


def _sum(name: str, data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(name.encode()))


def _verify(name: object, data: object, total: object) -> bytes:
    if not (isinstance(name, str) and isinstance(data, bytes) and total == _sum(name, data)):
        raise DamagedError(f"{name!r} is not as it was written")
    return data


def is_sure(state: str, now: int) -> bool:
    """Whether a file in this state gets another one if it is written to from now on.

    A file that was just written to may be written to again without a trace.

    >>> is_sure("10 5000000000 5000000000 1 1", now=6_000_000_000)
    False
    """
    return bool(state) and max(map(int, state.split()[1:3])) < now - MARGIN
