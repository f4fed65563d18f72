"""Reading records: JSONL from files or stdin, with the place of each line and record.

Gzip and Parquet are unpacked; a line that is too long for memory is refused.
"""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import shutil
import stat
import tempfile
import zlib
from array import array
from codecs import BOM_UTF8
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import count, islice
from types import GeneratorType
from typing import Any, BinaryIO, Self

import orjson

from structkit.errors import RECORD_REMEDY, UserError, flag, missing, surface, wrong_usage
from structkit.extras import require
from structkit.processes import Result
from structkit.progress import say
from structkit.registry import fault_of
from structkit.reproducibility import key

Record = dict[str, Any]
MAX_REJECT_BYTES = 1_000  # bytes of a record that is too long which its reject shows

MAX_RECORD_VARIABLE = "STRUCTKIT_MAX_RECORD_BYTES"  # of the environment
DEFAULT_MAX_RECORD_BYTES = 64_000_000  # bytes of a line, unless set otherwise
MAX_JSON_LEVELS = 254  # levels that orjson writes

BUFFER_BYTES = 1 << 20  # stdio's default buffers cost 1.8x
READ_BYTES = 1 << 16

GZIP_MAGIC = b"\x1f\x8b"
PARQUET_MAGIC = b"PAR1"
PARQUET_BATCH_ROWS = 1024  # of Parquet, held at a time
COPY_AGAIN = "it is cut or damaged: copy it again"


def max_record_bytes() -> int:
    """Return the maximum bytes of a line, in this process and in those that it starts.

    A longer line is not held in memory, even if a small gzip file unpacks to it. Errors:
    `UserError` with status 2 if the environment does not name a number.
    """
    text = os.environ.get(MAX_RECORD_VARIABLE, str(DEFAULT_MAX_RECORD_BYTES))
    if not text.isdecimal() or not 1 <= int(text) <= 2**40:
        raise wrong_usage(
            f"{MAX_RECORD_VARIABLE}={text} is not a number from 1 to {2**40:,}",
            "set it to a number of bytes, or unset it",
        )
    return int(text)


def too_long() -> UserError:
    """Return the error for a line with more bytes.

    >>> print(too_long().problem)
    the record has more than 64,000,000 bytes
    """
    return UserError(
        f"the record has more than {max_record_bytes():,} bytes",
        f"set {MAX_RECORD_VARIABLE} to a larger number, or leave the record out",
    )


def read_pieces(name: str, size: int = READ_BYTES) -> Generator[bytes]:
    """Yield the content of a file or stdin (`-`), unpacked by its first bytes."""
    if name == "-" and os.isatty(0):
        say("reading stdin …")
    source = 0 if name == "-" else name
    with io.BufferedReader(io.FileIO(source, closefd=name != "-"), BUFFER_BYTES) as file:
        head = file.peek(8)
        if head.startswith(PARQUET_MAGIC):
            yield from _parquet_lines(file)
        elif head:  # a terminal is not asked twice for its end
            handle = file
            if head.startswith(GZIP_MAGIC):
                unpacked: Any = gzip.GzipFile(fileobj=file, mode="rb")
                handle = io.BufferedReader(unpacked, BUFFER_BYTES)
            while data := handle.read1(size):
                yield data


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
            for batch in table.iter_batches(PARQUET_BATCH_ROWS):
                yield b"".join(map(_row_line, batch.to_pylist()))
        except (arrow.ArrowException, ValueError) as error:
            raise OSError(str(error).partition("\n")[0]) from None


def _row_line(row: dict[str, Any]) -> bytes:
    values = {name: value for name, value in row.items() if value is not None}
    with suppress(orjson.JSONEncodeError):
        line = orjson.dumps(values, _json_default, orjson.OPT_APPEND_NEWLINE)
        if b"null" not in line:  # as orjson writes NaN
            return line
    for name, value in values.items():
        try:
            json.dumps(value, allow_nan=False, default=_json_default)
        except ValueError as error:
            raise UserError(
                f'column "{name}" cannot be JSON ({error})', "convert it, or take it out"
            ) from None
    return orjson.dumps(values, _json_default, orjson.OPT_APPEND_NEWLINE)


def _json_default(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def read_stdin() -> bytes:
    """Return all that stdin holds. Errors: `UserError` if it is closed."""
    refuse_closed_stdin()
    with open(0, "rb", closefd=False) as file:
        return file.read()


def refuse_closed_stdin() -> None:
    """Raise if stdin is closed, or only open to be written."""
    try:
        os.read(0, 0)
    except OSError as error:
        raise cannot_read(error).at("-") from None


def cannot_read(error: Exception) -> UserError:
    """Return the error for an input that cannot be read or decompressed, with a remedy."""
    if isinstance(error, IsADirectoryError):
        return UserError("is a folder", "name the files in it")
    if isinstance(error, OSError) and error.errno == errno.EBADF:
        return UserError("is closed", "name a file, or write to it")
    if isinstance(error, OSError) and error.strerror:
        return UserError(f"cannot be read: {error.strerror}", "check its name and permissions")
    return UserError(f"cannot be read: {error}", COPY_AGAIN)  # from decompression


def input_name(name: str) -> str:
    """Return a file's name as messages show it."""
    return surface().file(name)


class Lines:
    """The lines of some files in order, with file, line and number of the last one given.

    `number` counts lines over all files from 1; it is the id of a record without one. A line that
    is too long raises, and ends the reading.
    """

    def __init__(self, files: Sequence[str] = (), piece_bytes: int = READ_BYTES) -> None:
        self.files = list(files) or ["-"]
        self.piece_bytes = piece_bytes
        self.file = input_name(self.files[0])
        self.line = self.number = self.bytes = 0
        for name in self.files:
            try:
                os.stat(0 if name == "-" else name)  # a wrong name is reported before any work
            except OSError as error:
                raise cannot_read(error).at(name) from None
        self.total = total_bytes(self.files)

    def __iter__(self) -> Iterator[bytes]:
        maximum = max_record_bytes()
        for block in self.blocks():
            for offset, line in enumerate(block.lines(), 1):
                self.line, self.number = block.line + offset, block.number + offset
                if len(line) > maximum:
                    raise too_long().at(self.file)
                yield line

    min_block_bytes = 1
    """Minimum bytes of a block, except the last one of a file."""

    is_done: Callable[[Block], bool] = staticmethod(lambda block: False)
    """Whether another has dealt with a block, whose lines are not given then."""

    def blocks(self) -> Iterator[Block]:
        """Yield the same lines in blocks of at least `min_block_bytes`, as available.

        A line that is too long is cut to one byte more than a line may have.
        """
        for name in self.files:
            self.file, self.line = input_name(name), 0
            with closing(read_pieces(name, self.piece_bytes)) as pieces:
                for block in self._blocks_of(pieces):
                    if not self.is_done(block):
                        yield block

    def _blocks_of(self, pieces: Iterator[bytes]) -> Iterator[Block]:
        maximum = max_record_bytes()
        held: list[bytes] = []
        size = unfinished = 0  # bytes of the parts, and of the line at their end
        is_skipping = False  # over the rest of a line that is too long
        fault: UserError | None = None
        while True:
            try:
                data = next(pieces, b"")
            except (OSError, EOFError, zlib.error, UserError) as error:
                known = error if isinstance(error, UserError) else cannot_read(error)
                fault, data = known.at(self.file), b""
            self.bytes += len(data)
            if is_skipping and data:
                _, line_end, data = data.partition(b"\n")
                is_skipping = not line_end
                if not data:
                    continue
            end = data.rfind(b"\n") + 1
            size += len(data)
            unfinished = len(data) - end + (0 if end else unfinished)
            if unfinished > maximum and not end:
                yield from self._counted(_cut(b"".join((*held, data)), maximum))
                held, size, unfinished, is_skipping = [], 0, 0, True
            elif data and (size < self.min_block_bytes or not end):
                held.append(data)
            else:
                whole = b"".join((*held, memoryview(data)[:end]))  # copied once, not three times
                if fault:  # the lines before it are not lost
                    whole = whole[: whole.rfind(b"\n") + 1]
                held, size = [data[end:]], len(data) - end
                if whole:
                    yield from self._counted(whole)
                if not data:
                    break
        if fault:
            raise fault

    def _counted(self, data: bytes) -> Iterator[Block]:
        """Yield a block; its lines are counted afterwards, unless its reader has done so."""
        if not self.line:
            data = data.removeprefix(BOM_UTF8)
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


class ReplayBuffer:
    """Pieces that are copied to a temporary file, to go over them once more."""

    def __init__(self) -> None:
        self._file: Any = tempfile.TemporaryFile("w+b", prefix="structkit-twice-")
        self._sizes = array("Q")

    def add(self, piece: bytes) -> None:
        """Copy a piece."""
        self._file.write(piece)
        self._sizes.append(len(piece))

    def replay(self) -> Iterator[bytes]:
        """Yield all pieces."""
        self._file.seek(0)
        yield from map(self._file.read, self._sizes)


def _cut(data: bytes, maximum: int) -> bytes:
    """Return whole lines, and enough of an unfinished one to show that it is too long."""
    return data[: data.rfind(b"\n") + 1 + maximum + 1] + b"\n"


def total_bytes(files: Iterable[str]) -> int | None:
    """Return the size of all files together, known if all are plain and named as uncompressed."""
    total = 0
    for name in files:
        status = os.fstat(0) if name == "-" else os.stat(name)
        if not stat.S_ISREG(status.st_mode) or name.endswith((".gz", ".parquet")):
            return None
        total += status.st_size
    return total


@dataclass(frozen=True)
class Shard:
    """Every `count`-th record, from `index` (counted from 0)."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse a shard written as `I/N`.

        >>> Shard.parse("0/4")
        Shard(index=0, count=4)
        """
        index, slash, count = text.partition("/")
        if slash and index.isdecimal() and count.isdecimal() and int(index) < int(count):
            return cls(int(index), int(count))
        raise wrong_usage(
            f"{flag('shard', text)} is not I/N with 0 <= I < N", "the first of 4 is 0/4"
        )

    def holds(self, name: str) -> bool:
        """Return whether this shard has the file or commit of this name."""
        return key(0, name) % self.count == self.index


class Records:
    """The records of some lines, one at a time, with the place of the last one.

    Iterating again after an error continues with the next record. Every record has an `id`: its
    own, BEIR's `_id`, or its number; unless `numbered` is false, which leaves records as they are.
    """

    def __init__(self, lines: Lines, shard: Shard | None = None, *, numbered: bool = True) -> None:
        self.lines = lines
        self.shard = shard
        self.numbered = numbered
        self.count = 0
        self._blocks = lines.blocks()
        self._block = Block(lines.file, 0, 0, b"")
        self.raw = b""
        self._at = -1  # the last line's index in its block
        self._numbers = count()
        self._rest = zip(self._block.lines(), self._numbers, strict=False)
        # whether other processes get the rest, by `remaining_blocks`
        self.hands_over: Callable[[], bool] = lambda: False

    def remaining_blocks(self, min_bytes: int) -> Iterator[Block]:
        """Return the blocks that are not read yet, each of at least so many bytes."""
        self.lines.min_block_bytes = min_bytes
        return self._blocks

    def look_ahead(self, look: Callable[[Record], None]) -> None:
        """Call a function with the record of each shard, before the records are read.

        A record that raises raises again when it is read.
        """
        copy, places = ReplayBuffer(), []
        for block in self._blocks:
            copy.add(block.data)
            places.append((block.file, block.line, block.number))
            for _ in accepted(look, Records(block), lambda _: None):
                pass
        blocks = zip(places, copy.replay(), strict=True)
        self._blocks = (Block(file, line, number, data) for (file, line, number), data in blocks)

    @classmethod
    def read(cls, files: Sequence[str] = ()) -> Self:
        """Read the records of files, or of stdin if none is given."""
        return cls(Lines(files))

    def __iter__(self) -> Iterator[Record]:
        yield from self._block_records()
        while self._next_block():
            yield from self._block_records()

    def map_batches(
        self, each: Callable[[list[Record]], Iterable[Result]], count: int
    ) -> Iterator[Result]:
        """Yield a function's result for each record; it gets several at a time.

        Each step over several records costs less than all steps record by record, because code and
        tables stay in the processor's cache. The error of an unreadable record comes in its turn,
        as a result.
        """
        unread = True
        while unread:
            records: list[Record] = []
            places: list[tuple[int, bytes]] = []
            faults: list[Any] = []
            try:
                for record in islice(self._block_records(), count):
                    records.append(record)
                    places.append((self._at, self.raw))
            except UserError as error:
                places.append((self._at, self.raw))
                faults.append(error)
            results = [*(each(records) if records else ()), *faults]
            for (self._at, self.raw), result in zip(places, results, strict=True):
                yield result
            unread = bool(places) or self._next_block()

    def _next_block(self) -> bool:
        """Move on to the next block, if there is one."""
        # as many numbers as lines were taken: to count line ends would take a fifth of the time
        self._block.count = next(self._numbers)
        block = None if self.hands_over() else next(self._blocks, None)
        if block:
            self._block, self._numbers = block, count()
            self._rest = zip(block.lines(), self._numbers, strict=False)
        return block is not None

    def _block_records(self) -> Iterator[Record]:
        """Yield the records that are left in the block."""
        block, shard, loads = self._block, self.shard, orjson.loads
        numbered = self.numbered
        maximum = max_record_bytes()
        for line, self._at in self._rest:  # noqa: B020 the place stays known
            if shard and (block.number + self._at) % shard.count != shard.index:
                continue
            self.raw = line
            if len(line) > maximum:
                self.count += 1
                self.raw = line[:MAX_REJECT_BYTES]
                raise self.place(too_long())
            try:
                record = loads(line)
            except orjson.JSONDecodeError as error:
                if not line or line.isspace():
                    continue
                self.count += 1
                raise self.place(not_json(error, line)) from None
            self.count += 1
            if type(record) is not dict:
                raise self.place(
                    UserError(
                        f"the line holds {json_kind(record)}, not an object",
                        "write one JSON object per line (jq -c '.[]' unrolls an array)",
                    )
                )
            for value in record.values():
                kind = type(value)  # the usual record has texts and small numbers only
                if kind is str:
                    continue
                if kind in _NESTED_TYPES or (
                    kind is float and not -_MAX_EXACT < value < _MAX_EXACT
                ):
                    record = self._exact(record, line)
                    break
            if numbered and type(record.get("id")) is not str:
                record = self._with_id(record)
            yield record

    def _exact(self, record: Record, line: bytes) -> Record:
        """Return a record with all digits of its numbers. Errors: it is too deep to be written."""
        if line.count(b"[") + line.count(b"{") > MAX_JSON_LEVELS:
            try:
                orjson.dumps(record)
            except orjson.JSONEncodeError:
                raise self.place(
                    UserError(
                        f"the record is nested more than {MAX_JSON_LEVELS} levels deep",
                        RECORD_REMEDY,
                    )
                ) from None
        return json.loads(line) if may_be_rounded(line) else record

    def _with_id(self, record: Record) -> Record:
        number = self._block.number + self._at + 1
        try:
            return {**record, "id": id_text(record.get("id", record.get("_id", number)))}
        except UserError as error:
            raise self.place(error) from None

    def place(self, error: UserError) -> UserError:
        """Return the error with the place of the last record."""
        return error.at(self._block.file, self._block.line + self._at + 1)


def id_text(value: object, field: str = "id") -> str:
    """Return an id as a string. Errors: it is neither a string nor an integer."""
    if type(value) not in (str, int):
        raise UserError(f'field "{field}" is {json_kind(value)}', "an id is a string or an integer")
    return str(value)


def add_new(identifier: str, seen: set[str]) -> None:
    """Remember an id. Raise on duplicates."""
    if identifier in seen:
        raise UserError(f'id "{identifier}" is repeated', "give each record its own id")
    seen.add(identifier)


def parse_each(records: Records, parse: Callable[[Record], Result]) -> Iterator[tuple[str, Result]]:
    """Yield the id of each record and the result of `parse`; an error has file and line.

    Errors: a repeated id.
    """
    seen: set[str] = set()
    try:
        for record in records:
            add_new(record["id"], seen)
            yield record["id"], parse(record)
    except UserError as error:
        raise records.place(error) from None


JSON_NAMES = {
    "list": "array",
    "dict": "object",
    "str": "string",
    "int": "number",
    "float": "number",
    "bool": "boolean",
    "NoneType": "null",
}


def json_kind(value: object) -> str:
    """Return the type of a value in JSON, for messages.

    >>> json_kind([]), json_kind(None)
    ('a JSON array', 'a JSON null')
    """
    kind = type(value).__name__
    return f"a JSON {JSON_NAMES.get(kind, kind)}"


_NESTED_TYPES = frozenset((list, dict))
_MAX_EXACT = 2.0**63  # smaller integers have 64 bits, which orjson reads as they are
_ZEROED_DIGITS = bytes(ord("0") if byte in b"0123456789" else ord(" ") for byte in range(256))


def may_be_rounded(line: bytes) -> bool:
    """Return whether orjson may have made a float of an integer of 19 digits or more."""
    return b"0" * 19 in line.translate(_ZEROED_DIGITS)


def not_json(error: orjson.JSONDecodeError, line: bytes) -> UserError:
    """Return the error for a line that does not parse."""
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as invalid:
        return not_utf8(invalid)
    return UserError(
        f"the line is not JSON ({error.msg}, column {error.colno})",
        "write one JSON object per line",
    )


def not_utf8(error: UnicodeDecodeError) -> UserError:
    """Return the error for a line in another encoding."""
    return UserError(
        f"the line is not UTF-8 (byte {error.start + 1})",
        "unpack the file, or convert it with iconv -t utf-8",
    )


def text_field(record: Record, name: str, remedy: str = "", *, named: bool = False) -> str:
    """Return the string in a field. Errors: another type, or a missing field.

    If the user `named` the field, the error suggests a similar one.
    """
    value = record.get(name)
    if isinstance(value, str):
        return value
    if name not in record:
        raise missing(name, record, remedy, named=named)
    raise UserError(f'field "{name}" is {json_kind(value)}, not a string', remedy or RECORD_REMEDY)


@dataclass(frozen=True)
class Rejected:
    """Rejected record and its error."""

    error: UserError
    raw: bytes

    def record(self) -> Record:
        error = self.error
        try:
            content = orjson.loads(self.raw)
            orjson.dumps(content)
        except (orjson.JSONDecodeError, orjson.JSONEncodeError):  # it could not be written
            content = self.raw.decode("utf-8", "replace").rstrip("\n")
        return {"file": error.file, "line": error.line, "reason": error.reason, "record": content}


def accepted(
    each: Callable[[Any], Any], rows: Records, reject: Callable[[Rejected], None], batch: int = 0
) -> Iterator[Any]:
    """Yield what a function returns, or yields, for each row; if it raises, reject the row.

    With a `batch` it gets lists of so many records, and returns one result or error for each.
    """

    def refuse(error: UserError) -> None:
        if error.status == 2 or (error.file and not error.line):
            raise error  # wrong usage, or a file that cannot be read: no record is to blame
        reject(Rejected(rows.place(error), rows.raw))

    def results_of(records: list[Record]) -> list[Any]:
        try:
            return list(each(records))
        except Exception as error:
            if not (fault := fault_of(error)):
                raise
            if len(records) == 1:
                return [fault]
            return [result for record in records for result in results_of([record])]

    if batch:
        for result in rows.map_batches(results_of, batch):
            if isinstance(result, UserError):
                refuse(result)
            else:
                yield result
        return
    unread = True
    while unread:
        try:
            for row in rows:
                result = each(row)
                if isinstance(result, GeneratorType):
                    yield from result
                else:
                    yield result
            unread = False
        except UserError as error:  # the row's, or of reading it: the next one follows
            refuse(error)
        except Exception as error:
            if not (fault := fault_of(error)):
                raise
            refuse(fault)


def raise_error(rejected: Rejected) -> None:
    """Take no rejected record: raise its error."""
    raise rejected.error


@dataclass(frozen=True)
class Stage:
    """Stage of a command: `each` works on one record, `then` on all results.

    `each` returns a result, or yields any number of them; if it raises, its record is rejected.
    Several processes may share the records, so state over all of them belongs in `then`, which gets
    the results in order, in one process. `first` sees the records of all shards before. With a
    `batch`, `each` gets lists of so many records, and returns for each record one result, or the
    error that rejects it.
    """

    each: Callable[[Any], Any]
    then: Callable[[Iterable[Any]], Iterator[Record]] | None = None
    batch: int = 0
    first: Callable[[Record], None] | None = None

    def results(self, records: Records, reject: Callable[[Rejected], None]) -> Iterator[Any]:
        """Yield the results of records, in order."""
        if self.first:
            records.look_ahead(self.first)
        results = accepted(self.each, records, reject, self.batch)
        return self.then(results) if self.then else results
