"""Rows of other tools' files, one at a time, with their places."""

from __future__ import annotations

import csv
import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, Protocol, TypeAlias

import orjson

from structkit.errors import UserError
from structkit.extras import require
from structkit.paths import refuse_pipe
from structkit.records.jsonl import BEGINNING, BOM, Record, Records, Rows, accepted
from structkit.records.lines import Block, Lines, cannot_read, maximum_bytes, too_long

Row: TypeAlias = "dict[str, Any]"
csv.field_size_limit(sys.maxsize)  # the limit is that of a row


class FileRows(Rows, Protocol):
    """Rows of files, of which the first may be known before they are read."""

    def first(self) -> Row:
        """The first good row, which iterating gives too; empty where it is not known."""
        ...


class JsonRows(Records):
    """JSON objects, one per line; one without an id gets none."""

    def __init__(self, files: Sequence[str] = ()) -> None:
        super().__init__(Lines(files))

    def _with_id(self, record: Record) -> Record:
        if "id" not in record and "_id" not in record:
            return record
        record = super()._with_id(record)
        record.pop("_id", None)
        return record

    def first(self) -> Row:
        seen: list[Block] = []
        row: Row = {}
        while not row and (block := next(self._blocks, None)):
            seen.append(block)
            row = next(accepted(iter, Records(block, numbered=False), lambda _: None), {})
        self._blocks = chain(seen, self._blocks)  # a pipe cannot be read again
        return row


class _LineRows:
    """Rows that are cut out of lines; `units` gives the first line and the bytes of each."""

    def __init__(self, files: Sequence[str] = ()) -> None:
        self.files = list(files) or ["-"]
        self.lines = Lines(self.files, cut=True)  # a wrong name is reported before any work
        self.raw = b""
        self.count = 0
        self._line = 0
        self._rest = self._every()

    def __iter__(self) -> Iterator[Row]:
        for self._line, self.raw in self._rest:  # noqa: B020 the place stays known
            self.count += 1
            if len(self.raw) > maximum_bytes():
                self.raw = self.raw[:BEGINNING]
                raise too_long()
            raw = self.raw.removeprefix(BOM) if self._line == 1 else self.raw
            yield self.parse(_text(raw))

    def _every(self) -> Iterator[tuple[int, bytes]]:
        for name in self.files:
            self.lines = Lines([name], cut=True)
            yield from self.units(self.lines)

    def first(self) -> Row:
        return {}

    def units(self, lines: Lines) -> Iterator[tuple[int, bytes]]:
        for line in lines:
            if not line.isspace():
                yield lines.line, line

    def parse(self, text: str) -> Row:
        raise NotImplementedError

    def place(self, error: UserError) -> UserError:
        return error.at(self.lines.file, self._line)


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise UserError(
            f"the line is not UTF-8 (byte {error.start + 1})",
            "convert the file, for example with iconv -t utf-8",
        ) from None


class _Parts:
    """The pieces of a row, as far as they show that it is too long."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.pieces: list[bytes] = []
        self.size = 0

    def add(self, piece: bytes) -> None:
        if not self.long:
            self.pieces.append(piece)
            self.size += len(piece)

    @property
    def long(self) -> bool:
        return self.size > maximum_bytes()

    def joined(self) -> bytes:
        return b"".join(self.pieces)


class ColumnRows(_LineRows):
    """Columns separated by spaces, as in TREC."""

    def __init__(self, files: Sequence[str], names: Sequence[str]) -> None:
        self.names = names
        super().__init__(files)

    def parse(self, text: str) -> Row:
        cells = text.split()
        if len(cells) != len(self.names):
            raise UserError(
                f"the line has {len(cells)} columns, not {len(self.names)}",
                f"the columns are: {' '.join(self.names)}",
            )
        return dict(zip(self.names, cells, strict=True))


class _Feed:
    """Lines for a reader of rows; a row that is too long, as with an open quote, raises."""

    def __init__(self, lines: Lines) -> None:
        self.lines, self._rest, self.taken = lines, iter(lines), _Parts()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._rest)
        self.taken.add(line)
        if self.taken.long:
            raise csv.Error("too long")
        return (line.removeprefix(BOM) if self.lines.line == 1 else line).decode("utf-8", "replace")


class DelimitedRows(_LineRows):
    """Cells separated by a delimiter under a header; empty cells are left out.

    A cell in double quotes may hold the delimiter and line breaks.
    """

    def __init__(self, files: Sequence[str], delimiter: str) -> None:
        self.delimiter = delimiter
        self.header: list[str] = []
        self.cells: list[str] | csv.Error = []
        super().__init__(files)

    def units(self, lines: Lines) -> Iterator[tuple[int, bytes]]:
        feed = _Feed(lines)
        reader = csv.reader(feed, delimiter=self.delimiter, strict=True)
        try:
            self.header = next(reader, [])
        except csv.Error as error:
            if feed.taken.long:
                raise too_long().at(lines.file) from None
            problem = UserError(f"the header's quotes do not match ({error})", "fix the quotes")
            raise problem.at(lines.file) from None
        while True:
            feed.taken.clear()
            first = lines.line + 1
            try:
                cells = next(reader, None)
            except csv.Error as error:
                self.cells = error
            else:
                if cells is None:
                    return
                self.cells = cells
            if self.cells:
                yield first, feed.taken.joined()

    def parse(self, text: str) -> Row:
        if isinstance(self.cells, csv.Error):
            raise UserError(f"the row's quotes do not match ({self.cells})", "fix the quotes")
        if len(self.cells) != len(self.header):
            raise UserError(
                f"the row has {len(self.cells)} cells, not {len(self.header)} like the header",
                "fix the row",
            )
        named = zip(self.header, self.cells, strict=True)
        return {name: cell for name, cell in named if cell}


class BracketRows(_LineRows):
    """Trees in brackets, over as many lines as they take."""

    def units(self, lines: Lines) -> Iterator[tuple[int, bytes]]:
        first, depth, parts = 0, 0, _Parts()
        for line in lines:
            if len(line) > maximum_bytes():  # its brackets are not all known, so no tree is
                raise too_long().at(lines.file)
            start = 0
            for sign in re.finditer(rb"[()]", line):
                depth += 1 if sign[0] == b"(" else -1
                if depth <= 0:  # below 0 there is a bracket too many, which parsing reports
                    parts.add(line[start : sign.end()])
                    yield first or lines.line, parts.joined()
                    first, depth, parts, start = 0, 0, _Parts(), sign.end()
            if not line[start:].isspace() and start < len(line):
                first = first or lines.line
                parts.add(line[start:])
        if first:
            yield first, parts.joined()

    def parse(self, text: str) -> Row:
        return {"tree": " ".join(text.split())}


class ParagraphRows(_LineRows):
    """Groups of lines, separated by blank lines."""

    def units(self, lines: Lines) -> Iterator[tuple[int, bytes]]:
        first, parts = 0, _Parts()
        for line in lines:
            if not line.isspace():
                first = first or lines.line
                parts.add(line)
            elif first:
                yield first, parts.joined()
                first, parts = 0, _Parts()
        if first:
            yield first, parts.joined()

    def parse(self, text: str) -> Row:
        return {"lines": text.rstrip("\r\n").split("\n")}


class ParquetRows:
    """Rows of Parquet files without nulls. The place is the number of the row."""

    def __init__(self, files: Sequence[str]) -> None:
        self.arrow = require("pyarrow", "parquet")
        self.parquet = require("pyarrow.parquet", "parquet")
        self.count = self._number = 0
        self.file = files[0]
        for name in files:
            refuse_pipe(name, "a Parquet file")
            if name == "-" or not os.path.isfile(name):
                raise UserError("is not a file", "Parquet is read from files").at(name)
        self._row: Row = {}
        self._rest = self._every(files)

    def _every(self, files: Sequence[str]) -> Iterator[tuple[int, Row]]:
        for self.file in files:  # noqa: B020 the place stays known
            number = 0
            try:
                for batch in self.parquet.ParquetFile(self.file).iter_batches(1024):
                    for row in batch.to_pylist():
                        number += 1
                        yield number, row
            except (OSError, self.arrow.ArrowException) as error:
                raise cannot_read(error).at(self.file) from None

    def __iter__(self) -> Iterator[Row]:
        for self._number, self._row in self._rest:  # noqa: B020 the place stays known
            self.count += 1
            yield {name: value for name, value in self._row.items() if value is not None}

    def first(self) -> Row:
        first = list(islice(self._rest, 1))
        self._rest = chain(first, self._rest)
        return dict(first[0][1]) if first else {}

    @property
    def raw(self) -> bytes:
        """The row as JSON."""
        return orjson.dumps(self._row, default=str)

    def place(self, error: UserError) -> UserError:
        return error.at(self.file, self._number)
