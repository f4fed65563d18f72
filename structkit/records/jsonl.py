"""Reading records: JSONL from files or stdin, with the place of each record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from types import GeneratorType
from typing import Any, Protocol, TypeVar

import orjson

from structkit.errors import MEND, UserError, flag, missing
from structkit.records.lines import (
    Block,
    Lines,
    Twice,
    is_deep,
    maximum_bytes,
    may_be_deep,
    too_deep,
    too_long,
)
from structkit.registry import fault_of
from structkit.reproducibility import key

Record = dict[str, Any]
T = TypeVar("T")
BOM = b"\xef\xbb\xbf"
BEGINNING = 1_000  # bytes of a record that is too long which its reject shows


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
        raise UserError(
            f"{flag('shard', text)} is not I/N with 0 <= I < N", "the first of 4 is 0/4", status=2
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
        self.ends: Callable[[], bool] = lambda: False  # whether `rest` has what is left

    def rest(self, least: int) -> Iterator[Block]:
        """Return the blocks that are not read yet, each of at least so many bytes."""
        self.lines.least = least
        return self._blocks

    def look_ahead(self, look: Callable[[Record], None]) -> None:
        """Call a function with the record of each shard, before the records are read.

        A record that raises raises again when it is read.
        """
        copy, places = Twice(), []
        for block in self._blocks:
            copy.add(block.data)
            places.append((block.file, block.line, block.number))
            for _ in accepted(look, Records(block), lambda _: None):
                pass
        pieces = zip(places, copy.again(), strict=True)
        self._blocks = (Block(file, line, number, data) for (file, line, number), data in pieces)

    @classmethod
    def read(cls, files: Sequence[str] = ()) -> Records:
        """Read the records of files, or of stdin if none is given."""
        return cls(Lines(files))

    def __iter__(self) -> Iterator[Record]:
        yield from self._here()
        while self._turn():
            yield from self._here()

    def several(self, each: Callable[[list[Record]], Iterable[T]], count: int) -> Iterator[T]:
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
                for record in islice(self._here(), count):
                    records.append(record)
                    places.append((self._at, self.raw))
            except UserError as error:
                places.append((self._at, self.raw))
                faults.append(error)
            results = [*(each(records) if records else ()), *faults]
            for (self._at, self.raw), result in zip(places, results, strict=True):
                yield result
            unread = bool(places) or self._turn()

    def _turn(self) -> bool:
        """Move on to the next block, if there is one."""
        # as many numbers as lines were taken: to count line ends would take a fifth of the time
        self._block.count = next(self._numbers)
        block = None if self.ends() else next(self._blocks, None)
        if block:
            self._block, self._numbers = block, count()
            self._rest = zip(block.lines(), self._numbers, strict=False)
        return block is not None

    def _here(self) -> Iterator[Record]:
        """Yield the records that are left in the block."""
        block, shard, loads = self._block, self.shard, orjson.loads
        numbered, most = self.numbered, maximum_bytes()
        for line, self._at in self._rest:  # noqa: B020 the place stays known
            if shard and (block.number + self._at) % shard.count != shard.index:
                continue
            self.raw = line
            if len(line) > most:
                self.count += 1
                self.raw = line[:BEGINNING]
                raise self.place(too_long())
            try:
                record = loads(line)
            except orjson.JSONDecodeError:
                if block.line + self._at == 0:
                    self.raw = line = line.removeprefix(BOM)
                if not line or line.isspace():
                    continue
                record = self._parse(line)
            self.count += 1
            if type(record) is not dict:
                raise self.place(
                    UserError(
                        f"the line holds {json_kind(record)}, not an object",
                        "write one JSON object per line (jq -c '.[]' unrolls an array)",
                    )
                )
            for value in record.values():
                # the usual record has texts only
                if type(value) is not str and type(value) in _ROUNDED:
                    record = self._exact(record, line)
                    break
            if numbered and type(record.get("id")) is not str:
                record = self._with_id(record)
            yield record

    def _parse(self, line: bytes) -> Any:
        try:
            return orjson.loads(line)
        except orjson.JSONDecodeError as error:
            self.count += 1
            raise self.place(not_json(error, line)) from None

    def _exact(self, record: Record, line: bytes) -> Record:
        """Return a record with all digits of its numbers. Errors: it is too deep to be written."""
        if may_be_deep(line) and is_deep(record):
            raise self.place(too_deep())
        return json.loads(line) if may_be_rounded(line) else record

    def _with_id(self, record: Record) -> Record:
        number = self._block.number + self._at + 1
        id_ = record.get("id", record.get("_id", number))
        if isinstance(id_, bool) or not isinstance(id_, str | int):
            raise self.place(
                UserError(f'field "id" is {json_kind(id_)}', "an id is a string or an integer")
            )
        return {**record, "id": str(id_)}

    @property
    def here(self) -> tuple[str, int]:
        """File and line of the last record."""
        return self._block.file, self._block.line + self._at + 1

    def place(self, error: UserError) -> UserError:
        """Return the error with the place of the last record."""
        return error.at(*self.here)


def add_new(identifier: str, seen: set[str]) -> None:
    """Remember an id. Raise on duplicates."""
    if identifier in seen:
        raise UserError(f'id "{identifier}" is repeated', "give each record its own id")
    seen.add(identifier)


def parse_each(records: Records, parse: Callable[[Record], T]) -> Iterator[tuple[str, T]]:
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


_ROUNDED = frozenset((float, list, dict))
_DIGITS = bytes(ord("0") if byte in b"0123456789" else ord(" ") for byte in range(256))


def may_be_rounded(line: bytes) -> bool:
    """Return whether orjson may have made a float of an integer of 19 digits or more."""
    return b"0" * 19 in line.translate(_DIGITS)


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
    problem = f"the line is not UTF-8 (byte {error.start + 1})"
    return UserError(problem, "unpack the file, or convert it with iconv -t utf-8")


def text_field(record: Record, name: str, remedy: str = "", *, named: bool = False) -> str:
    """Return the string in a field. Errors: another type, or a missing field.

    If the user `named` the field, the error suggests a similar one.
    """
    value = record.get(name)
    if isinstance(value, str):
        return value
    if name not in record:
        raise missing(name, record, remedy, named=named)
    raise UserError(f'field "{name}" is {json_kind(value)}, not a string', remedy or MEND)


@dataclass(frozen=True)
class Rejected:
    """Rejected record and its error."""

    error: UserError
    raw: bytes

    def record(self) -> Record:
        error = self.error
        try:
            content = orjson.loads(self.raw)
            if is_deep(content):
                content = self.raw.decode().rstrip("\n")
        except orjson.JSONDecodeError:
            content = self.raw.decode("utf-8", "replace").rstrip("\n")
        return {
            "file": error.file,
            "line": error.line,
            "reason": error.reason,
            "record": content,
        }


class RowReader(Protocol):
    """Records, or rows of other tools' files; iterating again after an error continues after it."""

    count: int

    @property
    def raw(self) -> bytes:
        """The last row as it is in the file."""
        ...

    def __iter__(self) -> Iterator[Record]: ...

    def place(self, error: UserError) -> UserError:
        """Return the error with the place of the last row."""
        ...


def accepted(
    each: Callable[[Any], Any], rows: RowReader, reject: Callable[[Rejected], None], batch: int = 0
) -> Iterator[Any]:
    """Yield what a function returns, or yields, for each row; if it raises, reject the row.

    With a `batch` it gets lists of so many records, and returns one result or error for each.
    """

    def refuse(error: UserError) -> None:
        if error.status == 2 or (error.file and not error.line):
            raise error  # wrong usage, or a file that cannot be read: no record is to blame
        reject(Rejected(rows.place(error), rows.raw))

    def apart(records: list[Record]) -> list[Any]:
        try:
            return list(each(records))
        except Exception as error:
            if not (fault := fault_of(error)):
                raise
            return [fault] if len(records) == 1 else [*chain(*(apart([one]) for one in records))]

    if batch:
        assert isinstance(rows, Records)
        for result in rows.several(apart, batch):
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
        found = accepted(self.each, records, reject, self.batch)
        return self.then(found) if self.then else found
