"""Store of files between questions, for one process at a time.

SQLite writes it in transactions: if a process is killed, what it read before remains. The records
of a file are kept by its content, so that another folder with the same file need not read it. The
data of passages are in two segments, so that an update usually writes the small one alone.

Tests: tests/asking/test_cache.py, tests/asking/test_updates.py.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import secrets
import sqlite3
import stat
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib.machinery import PathFinder
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import orjson

from structkit.collecting.ignoring import GIT_FOLDER
from structkit.collecting.walking import readable_path
from structkit.errors import flag
from structkit.progress import say
from structkit.records.jsonl import Record, cannot_read
from structkit.records.output import cannot_write, lock
from structkit.registry import plugins_of
from structkit.version import __version__

if TYPE_CHECKING:
    from structkit.embeddings.vectors import Int8Rows, IntArray

T = TypeVar("T")

OPEN_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
FORMAT_VERSION = 28  # a part of the name of each cache
MAX_UNUSED_SECONDS = 90 * 24 * 3600  # after which a cache is removed
# the tables, of named data with checksums
FILES = "files"  # states of files, by path
RECORDS = "records"  # of files, by the hash of their content
PARTS = "parts"  # all else, by names that modules choose
ROWS = "rows"  # token embeddings of passages, by the hash of model and text
STAMP = "stamp"  # the part that differs after each change
TARGET = "target"  # the part with the target of the cache
FOLDER_SEPARATOR = ", "  # between folders that are one target
MAX_MEMORIES = 4  # caches of which a process keeps what it read
MAX_READY_FILES = 1000  # of a cache, whose records a process keeps
MAX_SHARED_CACHES = 8  # in which files with the same content are looked up
SCHEMA = "".join(
    f"CREATE TABLE IF NOT EXISTS {table} (name TEXT PRIMARY KEY, sum INTEGER, data BLOB);"
    for table in (FILES, RECORDS, PARTS, ROWS)
)
MAX_ROW_BYTES = 512 << 20  # of all rows of passages together; beyond it all are removed
SEGMENT_NAMES = ("large ", "small ")  # in the names of their parts
GONE_FILES = "gone"  # the part with removed files that segments still have
# of SQLite's errors that do not mean that the cache is damaged
SYSTEM_FAILURE_CODES = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
}
MAX_CHANGED_SHARE = 0.25  # of the large segment, from which it is made again


@dataclass(frozen=True)
class Target:
    """Target of a question: folders, files or archives, by their given names and real paths.

    The paths of its files are relative to its `top`: the only folder, or the one around several.
    """

    named: tuple[str, ...]
    real: tuple[str, ...]

    @classmethod
    def of(cls, *named: str) -> Target:
        """Return the target of these names; one that does not exist may be of a pipe."""
        name_of: dict[str, str] = {}
        for name in named:
            real = os.path.realpath(name)
            name_of[real if os.path.exists(real) else os.path.abspath(name)] = name
        return cls(tuple(name_of.values()), tuple(name_of))

    def __str__(self) -> str:
        return " ".join(self.named)

    @functools.cached_property  # each file asks for it
    def top(self) -> str:
        """The real path to which paths in the target are relative."""
        return os.path.commonpath(self.real)

    def relative_path(self, path: str) -> str:
        """Return the path of a file in the target; its name if it is the target itself."""
        path, top = readable_path(path), readable_path(self.top)
        if path == top:
            return os.path.basename(path)
        return path.removeprefix(top.rstrip("/") + "/")

    def from_here(self, path: str) -> str:
        """Return a path in the target as the user would write it, by the given names."""
        top = readable_path(self.top)
        absolute = os.path.join(top, path)
        if path == os.path.basename(top) and not os.path.isdir(self.top):
            absolute = top  # the target is this file
        pairs = zip(self.real, self.named, strict=True)
        for real, named in sorted(pairs, key=lambda pair: -len(pair[0])):  # innermost first
            root = readable_path(real).rstrip("/") + "/"
            if f"{absolute}/".startswith(root):
                return os.path.normpath(os.path.join(named, absolute[len(root) :]))
        return path


def cache_file(folder: Path, target: Target, settings: Mapping[str, Any]) -> Path:
    """Return the cache of a target for these settings, this version and plugins.

    Caches with the same second half of their names read files alike.
    """
    languages = [
        (plugin.pack, plugin.name, plugin.path.stat().st_mtime_ns)
        for plugin in plugins_of("language")
    ]
    limit = settings["max_file_bytes"]
    reading = FORMAT_VERSION, __version__, languages, _without_grammar(), limit
    halves = ([*map(os.fsdecode, target.real)], settings), reading
    # file names may not be valid Unicode
    digests = [hashlib.blake2b(ascii(half).encode(), digest_size=12) for half in halves]
    return folder / f"{'-'.join(each.hexdigest() for each in digests)}.sqlite"


@functools.cache  # without it, a running process takes a tenth longer for an answer
def _without_grammar() -> list[str]:
    """Return the languages whose grammar is missing: their files have other passages."""
    names = [plugin.name for plugin in plugins_of("language")]
    return [name for name in names if not PathFinder.find_spec(f"tree_sitter_{name}")]


def files_of_cache(place: Path) -> list[Path]:
    """Return all files of a cache: SQLite's, and those that a killed process left beside it."""
    return [Path(f"{place}{ending}") for ending in ("", "-journal", "-wal", "-shm")]


class DamagedCache(sqlite3.DatabaseError):
    """Error for data of a cache that are missing, or are not those that were written."""


def caches(folder: Path) -> Iterator[Record]:
    """Yield a record of each cache in a folder of caches: `folder`, `exists`, `bytes`, `cache`.

    `folder` is the target: a folder, file or archive, or several; empty for an unreadable cache.
    """
    try:
        places = [folder / name for name in sorted(os.listdir(folder)) if name.endswith(".sqlite")]
        os.stat(os.path.join(folder, "."))  # the names may be readable, but not the files
    except FileNotFoundError:
        return
    except OSError as error:
        raise cannot_read(error).at(str(folder)) from None
    for place in places:
        roots = _roots(place)
        size = sum(each.stat().st_size for each in files_of_cache(place) if each.exists())
        yield {
            "folder": FOLDER_SEPARATOR.join(map(readable_path, roots)),
            "exists": bool(roots) and all(map(os.path.exists, roots)),
            "bytes": size,
            "cache": str(place),
        }


def clear(folder: Path, target: str) -> Iterator[Record]:
    """Remove the caches of a target, which may be gone itself; yield the records of the caches."""
    names = {readable_path(name) for name in (os.path.realpath(target), os.path.abspath(target))}
    for record in list(caches(folder)):
        if names.intersection(record["folder"].split(FOLDER_SEPARATOR)):
            place = Path(record["cache"])
            try:
                with hold_lock(place):  # another process may read it
                    for file in files_of_cache(place):
                        file.unlink(missing_ok=True)
            except OSError as error:
                raise cannot_write(error, name="cache").at(str(place)) from None
            yield record


def _roots(place: Path) -> list[str]:
    """Return the real paths of the target of a cache; none where it cannot be read."""
    try:
        # not "ro": SQLite rolls back the changes of a killed process
        uri = f"{place.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            return os.fsdecode(Store(connection).part(TARGET) or b"").split("\0")
    except (sqlite3.Error, UnicodeDecodeError):
        return []


def with_cache(place: Path | None, target: Target, work: Callable[[Store], T]) -> T:
    """Return the result of `work` with a target's cache, in a file or in memory.

    A damaged file is made anew; if the system allows none, nothing is kept. Both are reported.
    """
    if place is not None:
        try:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not place.exists():
                remove_unused(place.parent)
            try:
                return _with_file(place, target, work)
            # a message of SQLite with damaged text is not valid Unicode
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                code = getattr(error, "sqlite_errorcode", 0)
                if (code & 0xFF) in SYSTEM_FAILURE_CODES:  # an extended code ends with its primary
                    raise
                say(f"{place} is damaged: all files are read anew")
                with hold_lock(place) as file:
                    os.truncate(file, 0)  # not removed: another process may wait for its lock
                    for other in files_of_cache(place)[1:]:
                        other.unlink(missing_ok=True)
            return _with_file(place, target, work)
        except (OSError, sqlite3.DatabaseError) as error:
            reason = getattr(error, "strerror", None) or error
            remedy = f"remove it, or name another folder with {flag('cache')}"
            say(f"nothing is kept in {place}: {reason}; {remedy}")
    with open_store(None) as store:
        return work(store)


def _with_file(place: Path, target: Target, work: Callable[[Store], T]) -> T:
    with open_store(place) as store:
        if store.part(TARGET) is None:
            store.put_parts({TARGET: os.fsencode("\0".join(target.real))})
        return work(store)


def remove_unused(folder: Path) -> None:
    """Remove caches that have not been used for long."""
    for place in folder.glob("*.sqlite"):
        if time.time() - place.stat().st_mtime > MAX_UNUSED_SECONDS:
            for file in files_of_cache(place):
                file.unlink(missing_ok=True)


@contextmanager
def open_store(place: Path | None) -> Iterator[Store]:
    """Open the store in a file, or one in memory. Errors: `OSError`, `sqlite3.DatabaseError`."""
    with (
        hold_lock(place) if place else nullcontext(),
        closing(sqlite3.connect(place or ":memory:", isolation_level=None)) as connection,
    ):
        connection.executescript(SCHEMA)
        store = Store(connection, place)
        if place is None:
            yield store
            return
        memory = _memories.pop(place, {})  # no other thread gets the same one
        if memory.get(STAMP) == store.part(STAMP):
            store.memory = memory
        yield store
        _memories[place] = {**store.memory, STAMP: store.part(STAMP)}
        for oldest in list(_memories)[:-MAX_MEMORIES]:
            _memories.pop(oldest, None)


# what this process has read of caches, for the next question; the one used last is the last
_memories: dict[Path, dict[str, Any]] = {}


@contextmanager
def hold_lock(path: Path) -> Iterator[int]:
    """Open a file and hold its lock while the block runs; a second process waits.

    Only its user can read what the file holds. Errors: `OSError` if it cannot be made.
    """
    file = os.open(path, OPEN_FLAGS, 0o600)
    try:
        if path.parent.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            refuse_strangers(path)
        os.fchmod(file, 0o600)
        lock(file, "another process reads the same files; the answer follows")
        os.utime(file)  # when it was used last
        yield file
    finally:
        os.close(file)


def refuse_strangers(place: Path) -> None:
    """Raise where a file of a cache belongs to another user. Errors: `OSError`."""
    for file in files_of_cache(place):
        if os.path.lexists(file) and os.lstat(file).st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "it belongs to another user")


class File(NamedTuple):
    """Known state of a file: on the disk, the hash of its content, its passages."""

    path: str
    state: str  # size, times and number; empty for a file in an archive
    hash: str
    passages: int = 0
    problem: str = ""  # why it has no passages


class Store:
    """Store of files, their passages and data computed from these."""

    def __init__(self, connection: sqlite3.Connection, place: Path | None = None) -> None:
        self._connection, self.place = connection, place
        self.memory: dict[str, Any] = {}  # what a process keeps until the cache changes
        self.new_rows: list[Segment[Int8Rows]] = []  # embeddings of files that were just read

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Make all changes of the block, or none."""
        self._connection.execute("BEGIN IMMEDIATE")
        with self._connection:
            self.put_parts({STAMP: secrets.token_bytes(8)})
            yield

    def commit(self) -> None:
        """Make the changes so far, within a block of `changing`."""
        self._connection.commit()
        self._connection.execute("BEGIN IMMEDIATE")

    def files(self) -> dict[str, File]:
        """Return the known files by path."""
        rows = self._connection.execute(f"SELECT name, sum, data FROM {FILES}")
        checked = ((row[0], _checked(*row)) for row in rows)
        return {path: File(path, *orjson.loads(data)) for path, data in checked}

    def put(self, file: File, records: bytes) -> None:
        """Keep a file, and the lines of its records, uncompressed because this is read faster."""
        self._put(FILES, file.path, orjson.dumps(file[1:]))
        if file.passages:
            self._put(RECORDS, file.hash, records)

    def keep_only(self, files: Collection[File]) -> None:
        """Remove all other files, and the records of no other file."""
        kept_names = {
            FILES: {file.path for file in files},
            RECORDS: {file.hash for file in files},
        }
        for table, kept in kept_names.items():
            names = self._connection.execute(f"SELECT name FROM {table}").fetchall()
            gone = [row for row in names if row[0] not in kept]
            self._connection.executemany(f"DELETE FROM {table} WHERE name = ?", gone)

    def records(self, file: IndexedFile, numbers: Iterable[int] | None = None) -> list[Record]:
        """Return the passages of a file, or those with these numbers.

        With numbers, the lines of the file's passages stay in memory.
        """
        lines_of: dict[str, list[bytes]] = self.memory.setdefault(RECORDS, {})
        lines = lines_of.get(file.hash)
        if lines is None:
            data = self.part(file.hash, RECORDS)
            if data is None:
                raise DamagedCache(f"no records of {file.path}")
            lines = data.splitlines()
        if numbers is None:
            return records_at(file.path, lines)
        if file.hash not in lines_of and len(lines_of) == MAX_READY_FILES:
            lines_of.clear()
        lines_of[file.hash] = lines
        return records_at(file.path, (lines[number] for number in numbers))

    def put_rows(self, rows: Mapping[str, bytes]) -> None:
        """Keep the rows of texts under names; first remove all others beyond `MAX_ROW_BYTES`."""
        with self.changing():
            size = f"SELECT total(length(data)) FROM {ROWS}"
            if self._connection.execute(size).fetchone()[0] > MAX_ROW_BYTES:
                self._connection.execute(f"DELETE FROM {ROWS}")
            for name, data in rows.items():
                self._put(ROWS, name, data)

    def part(self, name: str, table: str = PARTS) -> bytes | None:
        """Return the data with a name in a table; None if there is none."""
        query = f"SELECT name, sum, data FROM {table} WHERE name = ?"
        row = self._connection.execute(query, (name,)).fetchone()
        return _checked(*row) if row else None

    def parts(self, names: Iterable[str], prefix: str = "") -> dict[str, bytes] | None:
        """Return the parts with a prefix and these names, by name; None if one is missing."""
        parts = dict[str, bytes]()
        for name in names:
            data = self.part(prefix + name)
            if data is None:
                return None
            parts[name] = data
        return parts

    def put_parts(self, parts: Mapping[str, bytes], prefix: str = "") -> None:
        """Keep parts by name, after a prefix."""
        for name, data in parts.items():
            self._put(PARTS, prefix + name, data)

    def _put(self, table: str, name: str, data: bytes) -> None:
        row = name, _checksum(name, data), data
        self._connection.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", row)


def records_at(path: str, lines: Iterable[bytes]) -> list[Record]:
    """Return the records in lines with this path; an equal file may have stored its own."""
    records = [orjson.loads(line) for line in lines]
    for record in records:
        stored = record["path"]
        if stored != path:
            record.update(id=path + record["id"].removeprefix(stored), path=path)
    return records


class SharedCaches:
    """Caches that read files alike, this one included, and may have the records of an equal file.

    Each process opens them on first use. A damaged or locked one counts as empty.
    """

    def __init__(self, place: Path | None) -> None:
        self.place = place

    @functools.cached_property
    def _stores(self) -> list[Store]:
        stores = list[Store]()
        if self.place is None:
            return stores
        second_half = self.place.name.rpartition("-")[2]
        places = [*self.place.parent.glob(f"*-{second_half}")]
        last_used = list[Path]()
        with suppress(OSError):  # another process removes one meanwhile
            last_used = sorted(places, key=lambda place: -place.stat().st_mtime)
        for place in last_used[:MAX_SHARED_CACHES]:
            with suppress(OSError, sqlite3.Error):
                refuse_strangers(place)
                uri = f"{place.absolute().as_uri()}?mode=ro"
                stores.append(Store(sqlite3.connect(uri, uri=True, timeout=0)))
        return stores

    def lines(self, digest: str) -> bytes | None:
        """Return the lines of the records of a file with this content hash."""
        for store in self._stores:
            with suppress(sqlite3.Error):
                if lines := store.part(digest, RECORDS):
                    return lines
        return None


def _checksum(name: str, data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(name.encode(errors="surrogateescape")))


def _checked(name: object, checksum: object, data: object) -> bytes:
    """Return the data of a row, which must have its checksum. Errors: `DamagedCache`."""
    if isinstance(name, str) and isinstance(data, bytes) and _checksum(name, data) == checksum:
        return data
    raise DamagedCache(f"the data of {name!r} are not those that were written")


def state_at(place: str) -> str:
    """Return the state of a file or folder; empty if there is none."""
    try:
        return state_of(os.lstat(place), place)
    except OSError:
        return ""


def state_of(status: os.stat_result | None, place: str = "") -> str:
    """Return a text that changes when a file is written to; empty for a file in an archive.

    Two writes of equal size within a tick of the file system's clock look equal. For a folder it
    changes with its entries; for git's own, only if the folder is replaced.
    """
    if status is None:
        return ""
    if place.endswith(f"/{GIT_FOLDER}") and stat.S_ISDIR(status.st_mode):
        return f"{status.st_dev} {status.st_ino}"
    times = f"{status.st_mtime_ns} {status.st_ctime_ns}"
    return f"{status.st_size} {times} {status.st_dev} {status.st_ino}"


class IndexedFile(NamedTuple):
    """A file with passages in an index."""

    path: str
    hash: str
    passages: int


def unpack_files(data: bytes) -> list[IndexedFile]:
    """Return the files of an index from the bytes that `pack_files` returned."""
    return [IndexedFile(*each) for each in orjson.loads(data)]


def pack_files(files: Iterable[IndexedFile]) -> bytes:
    """Return the files of an index as bytes."""
    return orjson.dumps([list(each) for each in files])


def count_passages(files: Iterable[IndexedFile]) -> int:
    """Return the number of passages of files."""
    return sum(each.passages for each in files)


@dataclass(frozen=True)
class Segment(Generic[T]):
    """Some files in any order, and the data of their passages in that order."""

    files: Sequence[IndexedFile]
    data: T


@dataclass(frozen=True)
class SegmentForm(Generic[T]):
    """How the data of passages are stored, and merged."""

    prefix: str  # of the names of parts
    names: tuple[str, ...]  # of the parts of a segment
    empty: T  # the data of no passages
    pack: Callable[[T], Mapping[str, bytes]]  # returns the parts by name
    unpack: Callable[[Mapping[str, bytes]], T]
    merge: Callable[[Sequence[tuple[T, IntArray]]], T]  # takes what `passage_numbers` returns


@dataclass(frozen=True)
class Segments(Generic[T]):
    """Data of the passages of files, sorted by path, in a large segment and a small one.

    The large one stays as it is, also with files that are gone, until a quarter of it has changed:
    so the cost of an update depends on the changes alone.
    """

    form: SegmentForm[T]
    files: Sequence[IndexedFile] = ()
    segments: Sequence[Segment[T]] = ()  # large and small; none before the first update

    @classmethod
    def read(cls, store: Store, form: SegmentForm[T]) -> Segments[T]:
        """Return what a store has."""
        gone = store.part(form.prefix + GONE_FILES)
        if gone is None:
            return cls(form)
        segments = list[Segment[T]]()
        for name in SEGMENT_NAMES:
            parts = store.parts(("files", *form.names), form.prefix + name)
            if parts is None:
                raise DamagedCache(f"{form.prefix}{name} lacks a part")
            segments.append(Segment(unpack_files(parts["files"]), form.unpack(parts)))
        files = indexed_files(segments).difference(unpack_files(gone))
        return cls(form, sorted(files), segments)

    def write(self, store: Store, before: Segments[T]) -> None:
        """Store the segments that differ from those before."""
        gone = indexed_files(self.segments).difference(self.files)
        store.put_parts({GONE_FILES: pack_files(gone)}, self.form.prefix)
        stored = before.segments or (None, None)
        for name, segment, old in zip(SEGMENT_NAMES, self.segments, stored, strict=True):
            if segment is not old:
                parts = {"files": pack_files(segment.files), **self.form.pack(segment.data)}
                store.put_parts(parts, self.form.prefix + name)

    def update(self, files: Sequence[IndexedFile], *added: Segment[T]) -> Segments[T]:
        """Return the data of these files; `added` has the data of those that are new."""
        merge, empty = self.form.merge, Segment[T]([], self.form.empty)
        large, small = self.segments or (empty, empty)
        in_large = {*large.files}
        others = [file for file in files if file not in in_large]
        large_count, other_count = count_passages(large.files), count_passages(others)
        gone_count = large_count + other_count - count_passages(files)
        if gone_count + other_count > MAX_CHANGED_SHARE * large_count:
            large = Segment(files, merge(passage_numbers(files, [large, small, *added])))
            small = empty
        else:
            small = Segment(others, merge(passage_numbers(others, [small, *added])))
        return Segments(self.form, files, [large, small])

    @property
    def numbered(self) -> list[tuple[T, IntArray]]:
        """The data of each segment, with the numbers of its passages."""
        return passage_numbers(self.files, self.segments)


def indexed_files(segments: Iterable[Segment[T]]) -> set[IndexedFile]:
    """Return the files of segments."""
    return {file for segment in segments for file in segment.files}


def passage_numbers(
    wanted: Sequence[IndexedFile], segments: Sequence[Segment[T]]
) -> list[tuple[T, IntArray]]:
    """Return the data of each segment, and the numbers of its passages, (passages,).

    Passages are numbered in the order of the wanted files. A passage of another file, or of one
    that an earlier segment has, gets -1.
    """
    import numpy as np  # a list of caches does not need it

    firsts = accumulate((file.passages for file in wanted), initial=0)
    first_of = dict(zip(wanted, firsts, strict=False))  # the number of each file's first passage
    numbered: list[tuple[T, IntArray]] = []
    for segment in segments:
        sizes = np.array([file.passages for file in segment.files], np.int64)
        starts = np.cumsum(sizes) - sizes
        offsets = np.arange(sizes.sum()) - starts.repeat(sizes)  # in the file of each passage
        file_firsts = [first_of.pop(file, -1) for file in segment.files]
        first = np.array(file_firsts, np.int64).repeat(sizes)  # of the file of each passage
        numbered.append((segment.data, np.where(first < 0, -1, first + offsets)))
    return numbered
