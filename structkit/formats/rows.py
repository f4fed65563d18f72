"""Rows of other tools' files: read one at a time with their places, written whole or not at all.

Tests: tests/hostile/test_limits.py.
"""

import csv
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

from structkit.errors import UserError
from structkit.extras import require
from structkit.records.jsonl import (
    Lines,
    Record,
    Records,
    accepted,
    max_record_bytes,
    not_utf8,
    too_long,
)
from structkit.records.output import Output, as_text, dump

Row: TypeAlias = "dict[str, Any]"
PARQUET_ROWS_PER_BATCH = 1024  # rows of Parquet that are written at once


class JsonRows(Records):
    """JSON objects, one per line; one without an id gets none."""

    def _with_id(self, record: Record) -> Record:
        if "id" not in record and "_id" not in record:
            return record
        record = super()._with_id(record)
        record.pop("_id", None)
        return record

    def first(self) -> Row:
        """Return the first good row of the first block, without consuming it; or empty."""
        block = next(self._blocks, None)
        if block is None:
            return {}
        self._blocks = chain([block], self._blocks)  # a pipe cannot be read again
        return next(accepted(dict, Records(block, numbered=False), lambda _: None), {})


class _LineRows(Records):
    """Rows cut out of lines; `raw_rows` yields the number of the first line and the bytes of each.

    A row that is too long for memory ends the work, because what follows may be part of it.
    """

    def __init__(self, files: Sequence[str] = ()) -> None:
        super().__init__(Lines(files))  # a wrong name is reported before any work
        self._line = 0
        self._raw_rows = self._all_raw_rows()

    def __iter__(self) -> Iterator[Row]:
        for self._line, self.raw in self._raw_rows:  # noqa: B020 the place stays known
            self.count += 1
            yield self.parse(_decode(self.raw))

    def _all_raw_rows(self) -> Iterator[tuple[int, bytes]]:
        for name in self.lines.files:
            self.lines, is_done = Lines([name]), self.lines.is_done
            self.lines.is_done = is_done
            yield from self.raw_rows(self.lines)

    def raw_rows(self, lines: Lines) -> Iterator[tuple[int, bytes]]:
        for line in lines:
            if not line.isspace():
                yield lines.line, line

    def parse(self, text: str) -> Row:
        raise NotImplementedError

    def place(self, error: UserError) -> UserError:
        return error.at(self.lines.file, self._line)


def _decode(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(error) from None


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


class DelimitedRows(_LineRows):
    """Cells separated by a delimiter under a header; empty cells are left out, or null.

    A cell in double quotes may hold the delimiter and line breaks; `""` is an empty text, as
    PostgreSQL and Spark write it. If its quotes do not match, only its first line is lost.
    """

    def __init__(self, files: Sequence[str], delimiter: str, nulls: bool = False) -> None:
        self.delimiter, self.nulls = delimiter, nulls
        # a cell as it is written, after the one before it
        self.cell_pattern = re.compile(rf'(?:\A|{delimiter})("[^"]*(?:""[^"]*)*"|[^{delimiter}]*)')
        self.header: list[str] = []
        self.is_open = False  # in the middle of a row
        self.cells: list[str] | csv.Error = []
        super().__init__(files)

    def raw_rows(self, lines: Lines) -> Iterator[tuple[int, bytes]]:
        numbered_lines = ((lines.line, line) for line in lines)
        read: list[tuple[int, bytes]] = []
        unread: deque[tuple[int, bytes]] = deque()  # lines after a quote that nothing closes
        self.header = []

        def next_text() -> str | None:
            numbered = unread.popleft() if unread else next(numbered_lines, None)
            if numbered:
                read.append(numbered)
                return numbered[1].decode("utf-8", "replace")
            return None

        while (text := next_text()) is not None:
            self.cells = self._cells(text, iter(next_text, None))
            if isinstance(self.cells, csv.Error):
                unread.extendleft(read[:0:-1])
                del read[1:]
            number, raw = read[0][0], b"".join(line for _, line in read)
            read.clear()
            if self.cells and self.header:
                yield number, raw
            elif self.cells:
                try:
                    self.header = _header(self.cells, raw)
                except UserError as error:
                    raise error.at(lines.file, number) from None

    def _cells(self, text: str, more: Iterator[str]) -> list[str] | csv.Error:
        """Return the cells of a row that begins with this line, and may go on in the next ones."""
        line = text.removesuffix("\n").removesuffix("\r")
        if '"' not in line and "\r" not in line:  # as in most rows
            return line.split(self.delimiter) if line else []
        # of a cell whose quote is not closed; the limit is the whole process's
        previous_limit = csv.field_size_limit(max_record_bytes())
        self.is_open = True
        try:
            return next(csv.reader(chain([text], more), delimiter=self.delimiter, strict=True))
        except csv.Error as error:
            return error
        finally:
            csv.field_size_limit(previous_limit)
            self.is_open = False

    def parse(self, text: str) -> Row:
        if isinstance(self.cells, csv.Error):
            raise UserError(f"the row's quotes do not match ({self.cells})", "fix the quotes")
        if len(self.cells) != len(self.header):
            raise UserError(
                f"the row has {len(self.cells)} cells, not {len(self.header)} like the header",
                "fix the row",
            )
        values: Sequence[str | None] = self.cells
        if "" in values:
            written = self.cell_pattern.findall(text) if '""' in text else values
            values = [
                None if cell == "" and source != '""' else cell
                for cell, source in zip(values, written, strict=True)
            ]
        named = zip(self.header, values, strict=True)
        return {name: cell for name, cell in named if cell is not None or self.nulls}


def _header(cells: list[str] | csv.Error, raw: bytes) -> list[str]:
    """Return the names of columns. Errors: two are equal, or the line is not UTF-8."""
    if isinstance(cells, csv.Error):
        raise UserError(f"the header's quotes do not match ({cells})", "fix the quotes")
    if "\0" in _decode(raw):
        raise UserError("the header holds NUL", "convert the file with iconv -t utf-8")
    for name in filter(None, cells):
        if cells.count(name) > 1:
            raise UserError(f'the header has the column "{name}" twice', "rename one")
    return cells


class BracketRows(_LineRows):
    """Trees in brackets, over as many lines as they take."""

    def raw_rows(self, lines: Lines) -> Iterator[tuple[int, bytes]]:
        first, depth, tree = 0, 0, bytearray()
        most = max_record_bytes()
        for line in lines:
            start = 0
            for sign in re.finditer(rb"[()]", line):
                depth += 1 if sign[0] == b"(" else -1
                if depth <= 0:  # below 0 there is a bracket too many, which parsing reports
                    tree += line[start : sign.end()]
                    yield first or lines.line, bytes(tree)
                    first, depth, start, tree = 0, 0, sign.end(), bytearray()
            if line[start:].strip():
                first = first or lines.line
                tree += line[start:]
                if len(tree) > most:
                    raise too_long().at(lines.file)
        if first:
            yield first, bytes(tree)

    def parse(self, text: str) -> Row:
        return {"tree": " ".join(text.split())}


class RowOutput(Output):
    """A file of rows; `encode` turns each one into bytes."""

    def __init__(self, path: str, encode: Callable[[Row], bytes], head: bytes = b"") -> None:
        super().__init__(path)
        self.encode = encode
        self.write(head)

    def add(self, row: Row) -> None:
        """Write a row. Errors without a place concern the row, others the output."""
        self.write(self.encode(row))


def column_output(path: str, names: Sequence[str]) -> RowOutput:
    """Open columns separated by spaces. Errors: a cell with white space."""

    def encode(row: Row) -> bytes:
        cells = [str(row[name]) for name in names]
        line = " ".join(cells)
        if line.split() != cells:
            name = next(name for name in names if len(str(row[name]).split()) != 1)
            raise UserError(
                f'{name} "{row[name]}" is empty or holds a space, which columns cannot',
                "write JSONL, or another id",
            )
        return line.encode() + b"\n"

    return RowOutput(path, encode)


def delimited_output(path: str, delimiter: str, names: Sequence[str] = ()) -> RowOutput:
    """Open cells separated by a delimiter under a header; by default the first row's names.

    An empty text is `""`, null is an empty cell.
    """
    header = list(names)
    needs_quotes = re.compile(rf'[{delimiter}"\r\n]|\A\Z').search

    def cell(value: object) -> str:
        text = as_text(value)
        if text is None:
            return ""
        return '"' + text.replace('"', '""') + '"' if needs_quotes(text) else text

    def line(cells: Iterable[object]) -> bytes:
        return (delimiter.join(map(cell, cells)) + "\n").encode()

    def encode(row: Row) -> bytes:
        head = b""
        if not header:
            header.extend(row)
            head = line(header)
        _refuse_new_columns(row, header)
        return head + line(map(row.get, header))

    return RowOutput(path, encode, line(header) if header else b"")


def _refuse_new_columns(row: Row, names: Collection[str]) -> None:
    if more := [name for name in row if name not in names]:
        raise UserError(
            f'the record has the column "{more[0]}", the first one does not',
            "give all records the same fields",
        )


class ParquetOutput(RowOutput):
    """Rows of a Parquet file; column types come from `types`, or from the first rows."""

    def __init__(self, path: str, types: Mapping[str, str]) -> None:
        self.arrow = require("pyarrow", "parquet")
        self.parquet = require("pyarrow.parquet", "parquet")
        self.typed = bool(types)
        self.names = [*types]
        self.schema: Any = None
        if types:
            columns = [(name, getattr(self.arrow, kind)()) for name, kind in types.items()]
            self.schema = self.arrow.schema(columns)
        self.writer: Any = None
        self.rows: list[Row] = []
        super().__init__(path, dump)

    def add(self, row: Row) -> None:
        self.names = self.names or [*row]
        _refuse_new_columns(row, self.names)
        self.rows.append(row)
        if len(self.rows) == PARQUET_ROWS_PER_BATCH:
            self._flush()

    def close(self) -> None:
        self._flush()
        self.writer.close()
        super().close()

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self.writer is not None:
            self.writer.close()  # its destructor would write to the closed file
        super().__exit__(kind, *_)

    def _flush(self) -> None:
        try:
            table = self._table()
            if self.writer is None:
                self.schema = table.schema
                self.writer = self.parquet.ParquetWriter(self.handle, self.schema)
            self.writer.write_table(table)
        except (self.arrow.ArrowException, OverflowError, TypeError) as error:
            raise UserError(
                f"a column cannot hold its values: {str(error).splitlines()[0]}",
                "give all records the same kinds of values",
            ).at(self.path) from None
        self.rows.clear()

    def _table(self) -> Any:
        """Return the rows as a table of the first rows' schema. Errors: it cannot hold them."""
        make = self.arrow.Table.from_pylist
        if self.writer and not self.typed:  # arrow drops fields of objects that a schema lacks
            new_schema = make(self.rows).schema
            merged = self.arrow.unify_schemas(
                [self.schema, new_schema], promote_options="permissive"
            )
            if merged != self.schema:
                raise TypeError("later rows have other types than the first ones")
        return make(self.rows, schema=self.schema)
