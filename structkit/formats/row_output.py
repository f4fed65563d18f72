"""Writing rows to other tools' files, which appear whole or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from structkit.errors import UserError
from structkit.extras import require
from structkit.formats.rows import Row
from structkit.records.output import Output, dump

BATCH = 1024


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


def json_output(path: str) -> RowOutput:
    """JSON objects, one per line."""
    return RowOutput(path, dump)


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
