"""Reading lines: of files or stdin, one at a time or in blocks, with their places.

Gzip and Parquet are unpacked; a line that is too long for memory is refused.

Tests: tests/records/test_jsonl.py.
"""

from __future__ import annotations

import gzip
import io
import math
import os
import shutil
import stat
import tempfile
import zlib
from array import array
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from typing import Any, BinaryIO

import orjson

from structkit.errors import MEND, UserError, surface
from structkit.extras import require
from structkit.progress import say

VARIABLE = "STRUCTKIT_MAX_RECORD_BYTES"  # of the environment
MAXIMUM = 64_000_000  # bytes of a line, unless set otherwise
LEVELS = 254  # levels that orjson writes

BUFFER = 1 << 20  # stdio's default buffers cost 1.8x
PIECE = 1 << 16

GZIP, PARQUET = b"\x1f\x8b", b"PAR1"
ROWS = 1024  # of Parquet, held at a time
COPY = "it is cut or damaged: copy it again"


def maximum_bytes() -> int:
    """Return the maximum bytes of a line, in this process and in those that it starts.

    A longer line is not held in memory, even if a small gzip file unpacks to it. Errors:
    `UserError` with status 2 if the environment does not name a number.
    """
    text = os.environ.get(VARIABLE, str(MAXIMUM))
    if not text.isdecimal() or not 1 <= int(text) <= 2**40:
        problem = f"{VARIABLE}={text} is not a number from 1 to {2**40:,}"
        raise UserError(problem, "set it to a number of bytes, or unset it", status=2)
    return int(text)


def too_long() -> UserError:
    """Return the error for a line with more bytes.

    >>> print(too_long().problem)
    the record has more than 64,000,000 bytes
    """
    return UserError(
        f"the record has more than {maximum_bytes():,} bytes",
        f"set {VARIABLE} to a larger number, or leave the record out",
    )


def too_deep() -> UserError:
    """Return the error for a record that could be read, but not written.

    >>> print(too_deep())
    the record is nested more than 254 levels deep; fix the record, or leave it out
    """
    return UserError(f"the record is nested more than {LEVELS} levels deep", MEND)


def may_be_deep(line: bytes) -> bool:
    """Return whether a line has enough brackets for a record that is too deep."""
    return line.count(b"[") + line.count(b"{") > LEVELS


def is_deep(value: object) -> bool:
    """Return whether JSON that orjson has read is too deep for it to write.

    >>> is_deep(orjson.loads("[" * 254 + "]" * 254)), is_deep(orjson.loads("[" * 255 + "]" * 255))
    (False, True)
    """
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return True
    return False


def pieces(name: str, size: int = PIECE) -> Generator[bytes]:
    """Yield the content of a file or stdin (`-`), unpacked by its name or first bytes."""
    if name == "-" and os.isatty(0):
        say("reading stdin …")
    source = 0 if name == "-" else name
    with io.BufferedReader(io.FileIO(source, closefd=name != "-"), BUFFER) as file:
        head = file.peek(8)
        if head.startswith(PARQUET):
            yield from _parquet_lines(file)
        elif head:  # a terminal is not asked twice for its end
            packed = name.endswith(".gz") or head.startswith(GZIP)
            content: Any = gzip.GzipFile(fileobj=file, mode="rb") if packed else file
            handle = io.BufferedReader(content, BUFFER) if packed else content
            try:
                while data := handle.read1(size):
                    yield data
            except gzip.BadGzipFile as error:
                if head.startswith(GZIP) and "Not a gzipped" in str(error):  # its beginning is
                    problem = "other data follows its compressed data"
                    raise gzip.BadGzipFile(problem) from None
                raise


def _parquet_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the rows of a Parquet file as JSON objects, one per line, without nulls.

    A pipe is copied to a temporary file first, because Parquet is read from its end.
    """
    arrow, parquet = require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
    with tempfile.TemporaryFile("w+b", prefix="structkit-parquet-") as copy:
        if not file.seekable():
            shutil.copyfileobj(file, copy)
        try:
            table = parquet.ParquetFile(file if file.seekable() else copy)
            if len({*table.schema_arrow.names}) < len(table.schema_arrow.names):
                raise UserError("two columns have the same name", "rename one")
            for batch in table.iter_batches(ROWS):
                yield b"".join(map(_line, batch.to_pylist()))
        except (arrow.ArrowException, ValueError) as error:
            raise OSError(str(error).partition("\n")[0]) from None


def _line(row: dict[str, Any]) -> bytes:
    there = {name: value for name, value in row.items() if value is not None}
    with suppress(orjson.JSONEncodeError):
        line = orjson.dumps(there, _text, orjson.OPT_APPEND_NEWLINE)
        if b"null" not in line:  # as orjson writes NaN
            return line
    for name, value in there.items():
        if problem := _no_json(value):
            raise UserError(f'column "{name}" holds {problem}', "convert it, or take it out")
    return orjson.dumps(there, _text, orjson.OPT_APPEND_NEWLINE)


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _no_json(value: Any) -> str:
    """Return what JSON cannot hold in a value, or ""."""
    if isinstance(value, bytes):
        return "" if value.decode("utf-8", "ignore").encode() == value else "bytes, not UTF-8"
    if isinstance(value, float):
        return "" if math.isfinite(value) else "NaN or infinity"
    items = value.values() if isinstance(value, dict) else value
    inner = map(_no_json, items) if isinstance(value, dict | list | tuple) else ()
    return next(filter(None, inner), "")


def cannot_read(error: Exception) -> UserError:
    """Return the error for an input that cannot be read or decompressed, with a remedy."""
    if isinstance(error, IsADirectoryError):
        return UserError("is a folder", "name the files in it")
    if isinstance(error, gzip.BadGzipFile) and "Not a gzipped" in str(error):
        return UserError(f"cannot be read: {error}", "rename it without .gz")
    if isinstance(error, OSError) and error.strerror:
        return UserError(f"cannot be read: {error.strerror}", "check its name and permissions")
    return UserError(f"cannot be read: {error}", COPY)  # from decompression


def input_name(name: str) -> str:
    """Return a file's name as messages show it."""
    return surface().file(name)


class Lines:
    """The lines of some files in order, with file, line and number of the last one given.

    `number` counts lines over all files from 1; it is the id of a record without one. A line that
    is too long raises, and ends the reading.
    """

    def __init__(self, files: Sequence[str] = (), piece: int = PIECE) -> None:
        self.files, self.piece = list(files) or ["-"], piece
        self.file = input_name(self.files[0])
        self.line = 0
        self.number = 0
        self.bytes = 0
        for name in self.files:
            try:
                os.stat(0 if name == "-" else name)  # a wrong name is reported before any work
            except OSError as error:
                raise cannot_read(error).at(input_name(name)) from None
        self.total = total_bytes(self.files)

    def __iter__(self) -> Iterator[bytes]:
        maximum = maximum_bytes()
        for block in self.blocks():
            for place, line in enumerate(block.lines(), 1):
                self.line, self.number = block.line + place, block.number + place
                if len(line) > maximum:
                    raise too_long().at(self.file)
                yield line

    least = 1
    """Bytes of a file that a block has at least, the last one excepted."""

    def blocks(self) -> Iterator[Block]:
        """Yield the same lines in blocks of at least `least` bytes, as available.

        A line that is too long is cut to one byte more than a line may have.
        """
        for name in self.files:
            self.file, self.line = input_name(name), 0
            with closing(pieces(name, self.piece)) as read:
                yield from self._blocks_of(read)

    def _blocks_of(self, read: Iterator[bytes]) -> Iterator[Block]:
        most = maximum_bytes()
        parts: list[bytes] = []
        size = unfinished = 0  # bytes of the parts, and of the line at their end
        passing = False  # over the rest of a line that is too long
        fault: UserError | None = None
        while True:
            try:
                data = next(read, b"")
            except (OSError, EOFError, zlib.error, UserError) as error:
                known = error if isinstance(error, UserError) else cannot_read(error)
                fault, data = known.at(self.file), b""
            self.bytes += len(data)
            if passing and data:
                _, line_end, data = data.partition(b"\n")
                passing = not line_end
                if not data:
                    continue
            end = data.rfind(b"\n") + 1
            size += len(data)
            unfinished = len(data) - end + (0 if end else unfinished)
            if unfinished > most and not end:
                yield from self._counted(_cut(b"".join((*parts, data)), most))
                parts, size, unfinished, passing = [], 0, 0, True
            elif data and (size < self.least or not end):
                parts.append(data)
            else:
                whole = b"".join((*parts, memoryview(data)[:end]))  # copied once, not three times
                if fault:  # the lines before it are not lost
                    whole = whole[: whole.rfind(b"\n") + 1]
                parts, size = [data[end:]], len(data) - end
                if whole:
                    yield from self._counted(whole)
                if not data:
                    break
        if fault:
            raise fault

    def _counted(self, data: bytes) -> Iterator[Block]:
        """Yield a block; its lines are counted afterwards, unless its reader has done so."""
        block = Block(self.file, self.line, self.number, data)
        yield block
        if block.count is None:
            block.count = data.count(b"\n") + (not data.endswith(b"\n"))
        self.line, self.number = block.line + block.count, block.number + block.count


class Block(Lines):
    """Whole lines cut out of one file, with the place of the line before them."""

    def __init__(self, file: str, line: int, number: int, data: bytes) -> None:
        self.file, self.line, self.number, self.data = file, line, number, data
        self.count: int | None = None  # of its lines, where its reader knows it
        self.files = [file]

    def lines(self) -> Iterator[bytes]:
        """Return the lines, one at a time: a list of all would leave the processor's cache."""
        return io.BytesIO(self.data)

    def blocks(self) -> Iterator[Block]:
        yield self


class Twice:
    """Pieces that are copied to a temporary file, to go over them once more."""

    def __init__(self) -> None:
        self._file: Any = tempfile.TemporaryFile("w+b", prefix="structkit-twice-")
        self._sizes = array("Q")

    def add(self, piece: bytes) -> None:
        """Copy a piece."""
        self._file.write(piece)
        self._sizes.append(len(piece))

    def again(self) -> Iterator[bytes]:
        """Yield all pieces."""
        self._file.seek(0)
        yield from map(self._file.read, self._sizes)


def _cut(data: bytes, most: int) -> bytes:
    """Yield whole lines, and enough of an unfinished one to show that it is too long."""
    return data[: data.rfind(b"\n") + 1 + most + 1] + b"\n"


def total_bytes(files: Iterable[str]) -> int | None:
    """Return the size of all files together, known if all are plain and named as uncompressed."""
    total = 0
    for name in files:
        status = os.fstat(0) if name == "-" else os.stat(name)
        if not stat.S_ISREG(status.st_mode) or name.endswith((".gz", ".parquet")):
            return None
        total += status.st_size
    return total
