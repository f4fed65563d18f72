"""Embeddings as Parquet: `id`, `embedding`, for chunks `doc_id`, a column for each kept field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from structkit.embeddings.rows import EmbeddingRow
from structkit.extras import require
from structkit.records.jsonl import Record
from structkit.records.whole import WholeFile, cannot_write

# how many numbers each field of a part's place has
NUMBERS = {"start": 1, "end": 1, "node": 1, "lines": 2, "span": 2}


class ParquetFile:
    """A file that appears when all rows are there; a window of rows is a row group.

    A field's column is text, with other values as JSON; the numbers of a part are integers:
    `start`, `end`, `node`, and two each in `lines` and `span`. The metadata is in the schema under
    `structkit`. Errors: `UserError` where the package is missing or the file cannot be written.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.arrow = require("pyarrow", "parquet")
        self.parquet = require("pyarrow.parquet", "parquet")
        self._writer: Any = None
        self.count = self.dim = 0
        with self._writing():
            self._file = WholeFile(path)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise cannot_write(error).at(self.path) from None

    def __enter__(self) -> ParquetFile:
        return self

    def add(self, rows: Sequence[EmbeddingRow], embeddings: NDArray[np.float32]) -> None:
        """Append rows and their embeddings (rows, dim)."""
        arrow = self.arrow
        self.dim = embeddings.shape[1]
        self.count += len(rows)
        numbers = arrow.array(np.ascontiguousarray(embeddings).ravel())
        columns = {
            "id": arrow.array([row.id for row in rows], arrow.string()),
            "embedding": arrow.FixedSizeListArray.from_arrays(numbers, self.dim),
        }
        parts = rows[0].doc_id is not None
        if parts:
            columns["doc_id"] = arrow.array([row.doc_id for row in rows], arrow.string())
        for name in rows[0].fields:
            values = [row.fields[name] for row in rows]
            own = parts and NUMBERS.get(name)
            columns[name] = (
                arrow.array(values, arrow.list_(arrow.int64()) if own == 2 else arrow.int64())
                if own
                else arrow.array(map(as_text, values), arrow.string())
            )
        table = arrow.table(columns)
        with self._writing():
            if self._writer is None:
                self._writer = self.parquet.ParquetWriter(self._file.handle, table.schema)
            self._writer.write_table(table)

    def checkpoint(self, state: Record) -> None:
        """Do nothing: a Parquet file cannot be continued."""

    def finish(self, meta: Record) -> Record:
        """Complete the file and give it its name; returns the metadata as written."""
        meta = {**meta, "count": self.count, "dim": self.dim, "dtype": "float32"}
        with self._writing():
            self._writer.add_key_value_metadata({"structkit": orjson.dumps(meta).decode()})
            self._writer.close()
            self._file.keep()
        return meta

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._writer is not None and kind is not None:
            with suppress(OSError):
                self._writer.close()
        self._file.drop()


def as_text(value: object) -> str | None:
    """A value of a text column.

    >>> as_text("go"), as_text([1, 2]), as_text(None)
    ('go', '[1,2]', None)
    """
    if value is None or isinstance(value, str):
        return value
    return orjson.dumps(value).decode()
