"""Records in, records out: JSONL from files or stdin, to a file or stdout."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any, BinaryIO, cast

import orjson

from structkit.errors import UserError

Record = dict[str, Any]

BUFFER = 1 << 20  # stdio's default buffers cost 1.8x
BLOCK = 1 << 18


@dataclass(frozen=True)
class Shard:
    """Every `count`-th record, from `index` (counted from 0)."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """The shard that `I/N` names.

        >>> Shard.parse("0/4")
        Shard(index=0, count=4)
        """
        index, slash, count = text.partition("/")
        if slash and index.isdecimal() and count.isdecimal() and int(index) < int(count):
            return cls(int(index), int(count))
        raise UserError(
            f"--shard {text!r} is not I/N with 0 <= I < N", "the first of 4: 0/4", status=2
        )


def open_input(name: str) -> BinaryIO:
    """A binary handle for a file, a `.gz` file, or stdin (`-`)."""
    try:
        if name == "-":
            return open(0, "rb", buffering=BUFFER, closefd=False)
        if name.endswith(".gz"):
            return cast(BinaryIO, io.BufferedReader(cast(Any, gzip.open(name, "rb")), BUFFER))
        return open(name, "rb", buffering=BUFFER)
    except OSError as error:
        raise cannot_read(error).at(shown(name)) from None


def cannot_read(error: Exception) -> UserError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return UserError(f"cannot be read: {reason}")


def shown(name: str) -> str:
    """A file's name as messages show it."""
    return "stdin" if name == "-" else name


class Lines:
    """The lines of some files in order, knowing file, line and number of the last one given.

    `number` counts lines over all files from 1; it is the id of a record without one.
    """

    def __init__(self, files: Sequence[str] = ()) -> None:
        self.files = list(files) or ["-"]
        self.file = shown(self.files[0])
        self.line = 0
        self.number = 0
        self.bytes = 0
        self.total = total_bytes(self.files)

    def __iter__(self) -> Iterator[bytes]:
        for name in self.files:
            self.file, self.line = shown(name), 0
            with open_input(name) as handle:
                try:
                    for self.line, line in enumerate(handle, 1):  # noqa: B020 the place stays known
                        self.number += 1
                        self.bytes += len(line)
                        yield line
                except (OSError, EOFError, zlib.error) as error:
                    raise cannot_read(error).at(self.file) from None

    def blocks(self) -> Iterator[Block]:
        """The same lines in blocks of about 256 KiB, for workers."""
        for name in self.files:
            self.file, self.line = shown(name), 0
            with open_input(name) as handle:
                try:
                    while data := handle.read(BLOCK):
                        data += handle.readline()
                        yield Block(self.file, self.line, self.number, data)
                        count = data.count(b"\n")
                        self.line += count
                        self.number += count + (not data.endswith(b"\n"))
                        self.bytes += len(data)
                except (OSError, EOFError, zlib.error) as error:
                    raise cannot_read(error).at(self.file) from None


class Block(Lines):
    """Whole lines cut out of a file, with the place where they stood."""

    def __init__(self, file: str, line: int, number: int, data: bytes) -> None:
        self.file, self.line, self.number, self.data = file, line, number, data
        self.bytes = 0
        self.total = len(data)

    def __iter__(self) -> Iterator[bytes]:
        for line in io.BytesIO(self.data):
            self.line += 1
            self.number += 1
            self.bytes += len(line)
            yield line


class Records:
    """The records of some lines, one at a time, knowing where the last one stood.

    Iterating again after an error goes on with the next record. Every record has an `id`: its own,
    BEIR's `_id`, or its number.
    """

    def __init__(self, lines: Lines, shard: Shard | None = None) -> None:
        self.lines = lines
        self.shard = shard
        self.raw = b""
        self.count = 0
        self._iterator = iter(lines)

    @classmethod
    def read(cls, files: Sequence[str] = (), shard: Shard | None = None) -> Records:
        """The records of files, or of stdin when none is given."""
        return cls(Lines(files), shard)

    def __iter__(self) -> Iterator[Record]:
        lines, shard, loads = self.lines, self.shard, orjson.loads
        for line in self._iterator:
            self.raw = line
            if shard and (lines.number - 1) % shard.count != shard.index:
                continue
            try:
                record = loads(self.raw)
            except orjson.JSONDecodeError as error:
                if lines.number == 1 and self.raw.startswith(b"\xef\xbb\xbf"):
                    record = self._parse(self.raw[3:])
                elif self.raw.isspace():
                    continue
                else:
                    raise self.place(not_json(error, self.raw)) from None
            self.count += 1
            if type(record) is not dict:
                kind = type(record).__name__
                raise self.place(
                    UserError(
                        f"the line holds a JSON {JSON_NAMES.get(kind, kind)}, not an object",
                        "write one JSON object a line (jq -c '.[]' unrolls an array)",
                    )
                )
            if type(record.get("id")) is not str:
                record = self._with_id(record)
            yield record

    def _parse(self, line: bytes) -> Any:
        try:
            return orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise self.place(not_json(error, line)) from None

    def _with_id(self, record: Record) -> Record:
        found = record.get("id", record.get("_id", self.lines.number))
        if isinstance(found, bool) or not isinstance(found, str | int):
            kind = type(found).__name__
            raise self.place(
                UserError(f'field "id" is a JSON {JSON_NAMES.get(kind, kind)}', "an id is a string")
            )
        return {**record, "id": str(found)}

    def place(self, error: UserError) -> UserError:
        """The error with the place of the last record."""
        return error.at(self.lines.file, self.lines.line)


JSON_NAMES = {
    "list": "array",
    "dict": "object",
    "str": "string",
    "int": "number",
    "float": "number",
    "bool": "boolean",
    "NoneType": "null",
}


def not_json(error: orjson.JSONDecodeError, line: bytes) -> UserError:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as invalid:
        return UserError(
            f"the line is not UTF-8 (byte {invalid.start + 1})",
            "convert the file, for example with iconv -t utf-8",
        )
    return UserError(
        f"the line is not JSON ({error.msg}, column {error.colno})", "write one JSON object a line"
    )


def text_field(record: Record, name: str, remedy: str = "") -> str:
    """The string in a field, or the error that says what is there instead."""
    value = record.get(name)
    if isinstance(value, str):
        return value
    if name not in record:
        others = ", ".join(record) or "none"
        raise UserError(f'field "{name}" is missing', remedy or f"the record has: {others}")
    kind = type(value).__name__
    raise UserError(f'field "{name}" is a JSON {JSON_NAMES.get(kind, kind)}, not a string', remedy)


def total_bytes(files: Iterable[str]) -> int | None:
    """The size of all files together where it is known: plain files, not stdin or `.gz`."""
    total = 0
    for name in files:
        try:
            status = os.fstat(0) if name == "-" else os.stat(name)
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode) or name.endswith(".gz"):
            return None
        total += status.st_size
    return total


class Output:
    """A file that appears whole or not at all, or stdout (`-`)."""

    def __init__(self, path: str = "-") -> None:
        self.path = path
        self._partial = ""
        try:
            self.handle = self._open()
        except OSError as error:
            raise self._cannot_write(error) from None

    def _open(self) -> IO[bytes]:
        if self.path == "-":
            # a person at a terminal sees each record at once, a pipe gets blocks
            return open(1, "wb", buffering=0 if os.isatty(1) else BUFFER, closefd=False)
        if os.path.isdir(self.path):
            raise UserError("is a folder", "name a file with -o").at(self.path)
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            return open(self.path, "wb", buffering=BUFFER)  # a device or a named pipe
        folder, name = os.path.split(os.path.abspath(self.path))
        self._partial = os.path.join(folder, f".{name}.{os.getpid()}.partial")
        handle = open(self._partial, "wb", buffering=BUFFER)
        if name.endswith(".gz"):  # no name and no time inside: the same records, the same bytes
            return cast(IO[bytes], gzip.GzipFile("", "wb", 6, handle, 0))
        return handle

    def write(self, data: bytes) -> None:
        try:
            self.handle.write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._cannot_write(error) from None

    def write_records(self, records: Iterable[Record]) -> None:
        """Write records, one a line."""
        dumps, append = orjson.dumps, orjson.OPT_APPEND_NEWLINE
        write = self.write
        for record in records:
            write(dumps(record, option=append))

    def _cannot_write(self, error: OSError) -> UserError:
        name = "stdout" if self.path == "-" else self.path
        return UserError(f"cannot be written: {error.strerror or error}").at(name)

    def __enter__(self) -> Output:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        try:
            self._close()
            if self._partial and kind is None:
                os.replace(self._partial, self.path)
        except OSError as problem:
            if kind is None:
                if isinstance(problem, BrokenPipeError):
                    raise
                raise self._cannot_write(problem) from None
        finally:
            if self._partial and os.path.exists(self._partial):
                os.unlink(self._partial)

    def _close(self) -> None:
        raw = getattr(self.handle, "fileobj", None)
        self.handle.close()  # flushes, so that stdout ends with a whole record
        if raw is not None:
            raw.close()


def write_records(records: Iterable[Record], path: str = "-") -> None:
    """Write records as JSONL to a file, whole or not at all, or to stdout."""
    with Output(path) as output:
        output.write_records(records)
