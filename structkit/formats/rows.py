"""Rows of other tools' files: read one at a time with their places, written whole or not at all."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from types import TracebackType
from typing import Any, TypeAlias

from structkit.errors import UserError
from structkit.extras import require
from structkit.records.jsonl import BEGINNING, BOM, Record, Records, accepted
from structkit.records.lines import Block, Lines, maximum_bytes, too_long
from structkit.records.output import Output

Row: TypeAlias = "dict[str, Any]"
csv.field_size_limit(sys.maxsize)  # the limit is that of a row
BATCH = 1024  # rows of Parquet that are written at once


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
        """The first good row, which iterating gives too; empty if there is none."""
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
        """The pieces as one; the next ones are of another row."""
        pieces, self.pieces, self.size = self.pieces, [], 0
        return b"".join(pieces)


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
            feed.taken.joined()
            first = lines.line + 1
            try:
                self.cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                self.cells = error
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
                    first, depth, start = 0, 0, sign.end()
            if line[start:].strip():
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
        for line in chain(lines, (b"",)):
            if line.strip():
                first = first or lines.line
                parts.add(line)
            elif first:
                yield first, parts.joined()
                first = 0

    def parse(self, text: str) -> Row:
        return {"lines": text.rstrip("\r\n").split("\n")}


class RowOutput:
    """A file of rows; `encode` turns each one into bytes."""

    def __init__(self, path: str, encode: Callable[[Row], bytes], head: bytes = b"") -> None:
        self.encode = encode
        self.output = Output(path)
        self.output.write(head)

    def made(self, row: Row) -> Any:
        """What `add` takes; errors of the row are raised here."""
        return self.encode(row)

    def add(self, made: Any) -> None:
        """Write what was made of a row."""
        self.output.write(made)

    def finish(self) -> None:
        """Write what is left."""

    def __enter__(self) -> RowOutput:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.output.__exit__(kind, error, trace)


def column_output(path: str, names: Sequence[str]) -> RowOutput:
    """Columns separated by spaces; a cell that holds white space raises."""

    def encode(row: Row) -> bytes:
        cells = [str(row[name]) for name in names]
        for name, cell in zip(names, cells, strict=True):
            if len(cell.split()) != 1:
                raise UserError(
                    f'{name} "{cell}" is empty or holds a space, which columns cannot',
                    "write JSONL, or another id",
                )
        return (" ".join(cells) + "\n").encode()

    return RowOutput(path, encode)


def delimited_output(path: str, delimiter: str, names: Sequence[str] = ()) -> RowOutput:
    """Cells separated by a delimiter under a header; by default the first row's names."""
    header = list(names)

    def line(cells: Sequence[object]) -> bytes:
        made = io.StringIO()  # characters of this line terminator are quoted: a lone \r too
        csv.writer(made, delimiter=delimiter, lineterminator="\r\n").writerow(cells)
        return made.getvalue()[:-2].encode() + b"\n"

    def encode(row: Row) -> bytes:
        head = b""
        if not header:
            header.extend(row)
            head = line(header)
        more = [name for name in row if name not in header]
        if more:
            raise UserError(
                f'the record has the column "{more[0]}", the first one does not',
                "give all records the same fields",
            )
        return head + line(["" if row.get(name) is None else row[name] for name in header])

    return RowOutput(path, encode, line(header) if header else b"")


class ParquetOutput(RowOutput):
    """Rows of a Parquet file; the first ones tell the types of columns, unless `types` does."""

    def __init__(self, path: str, types: Mapping[str, str]) -> None:
        self.arrow = require("pyarrow", "parquet")
        self.parquet = require("pyarrow.parquet", "parquet")
        self.schema: Any = None
        if types:
            columns = [(name, getattr(self.arrow, kind)()) for name, kind in types.items()]
            self.schema = self.arrow.schema(columns)
        self.writer: Any = None
        self.rows: list[Row] = []
        super().__init__(path, lambda row: b"")

    def made(self, row: Row) -> Any:
        return row

    def add(self, made: Any) -> None:
        self.rows.append(made)
        if len(self.rows) == BATCH:
            self._flush()

    def finish(self) -> None:
        self._flush()
        self.writer.close()

    def _flush(self) -> None:
        try:
            table = self.arrow.Table.from_pylist(self.rows, schema=self.schema)
        except (self.arrow.ArrowException, TypeError) as error:
            raise UserError(
                f"a column cannot hold its values: {str(error).splitlines()[0]}",
                "give all records the same kinds of values",
            ) from None
        self.rows.clear()
        if self.writer is None:
            self.schema = table.schema
            self.writer = self.parquet.ParquetWriter(self.output.handle, self.schema)
        self.writer.write_table(table)
