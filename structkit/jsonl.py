"""Records in: JSONL from files or stdin, each record knowing where it stands."""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import orjson

from structkit.errors import UserError

Record = dict[str, Any]

BOM = b"\xef\xbb\xbf"
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
    """What is wrong with an input that the system or its decompression refuses."""
    if isinstance(error, IsADirectoryError):
        return UserError("is a folder", "name the files in it")
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
        for name in self.files:
            try:
                os.stat(0 if name == "-" else name)  # a wrong name is told before any work is done
            except OSError as error:
                raise cannot_read(error).at(shown(name)) from None
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
        block = Block(self.file, 0, 0)
        try:
            for line in self:
                if self.line == 1 or block.size >= BLOCK:
                    if block.data:
                        yield block
                    block = Block(self.file, self.line - 1, self.number - 1)
                block.append(line)
        except UserError:
            if block.data:  # what stands before the fault is not lost, as with one worker
                yield block
            raise
        if block.data:
            yield block


class Block(Lines):
    """Whole lines cut out of one file, with the place where they stood."""

    def __init__(self, file: str, line: int, number: int) -> None:
        self.file, self.line, self.number = file, line, number
        self.data: list[bytes] = []
        self.bytes = 0
        self.size = 0

    def append(self, line: bytes) -> None:
        self.data.append(line)
        self.size += len(line)

    def __iter__(self) -> Iterator[bytes]:
        for line in self.data:
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
                record = loads(line)
            except orjson.JSONDecodeError:
                if lines.line == 1:
                    self.raw = line = line.removeprefix(BOM)
                if not line or line.isspace():
                    continue
                record = self._parse(line)
            self.count += 1
            if type(record) is not dict:
                kind = type(record).__name__
                raise self.place(
                    UserError(
                        f"the line holds a JSON {JSON_NAMES.get(kind, kind)}, not an object",
                        "write one JSON object a line (jq -c '.[]' unrolls an array)",
                    )
                )
            if may_be_rounded(record, line):
                record = json.loads(line)
            if type(record.get("id")) is not str:
                record = self._with_id(record)
            yield record

    def _parse(self, line: bytes) -> Any:
        try:
            return orjson.loads(line)
        except orjson.JSONDecodeError as error:
            self.count += 1
            raise self.place(not_json(error, line)) from None

    def _with_id(self, record: Record) -> Record:
        found = record.get("id", record.get("_id", self.lines.number))
        if isinstance(found, bool) or not isinstance(found, str | int):
            kind = type(found).__name__
            raise self.place(
                UserError(
                    f'field "id" is a JSON {JSON_NAMES.get(kind, kind)}',
                    "an id is a string or an integer",
                )
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


_ROUNDED = frozenset((float, list, dict))
_DIGITS = bytes(ord("0") if byte in b"0123456789" else ord(" ") for byte in range(256))


def may_be_rounded(record: Record, line: bytes) -> bool:
    """Whether orjson may have made a float of an integer beyond 64 bits (19 digits or more)."""
    flat = _ROUNDED.isdisjoint(map(type, record.values()))  # the usual record has texts only
    return not flat and b"0" * 19 in line.translate(_DIGITS)


def not_json(error: orjson.JSONDecodeError, line: bytes) -> UserError:
    """What is wrong with a line that does not parse."""
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
