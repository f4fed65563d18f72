"""Embeddings as Parquet: `id`, `embedding`, for chunks `doc_id`, a column for each kept field."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from structkit.embeddings.rows import EmbeddingRow
from structkit.extras import require
from structkit.records.jsonl import Record
from structkit.records.output import cannot_write
from structkit.records.partial import keep_mode, partial_of

# how many numbers each field of a part's place has
NUMBERS = {"start": 1, "end": 1, "node": 1, "lines": 2, "span": 2}


class ParquetFile:
    """A file that appears when all rows are there; a window of rows is a row group.

    A field's column is text, with other values as JSON; the numbers of a part are integers:
    `start`, `end`, `node`, and two each in `lines` and `span`. The metadata is in the schema under
    `structkit`. Errors: `UserError` where the package is missing or the file cannot be written.
    """

    def __init__(self, path: str) -> None:
        self.target = Path(path)
        self.arrow = require("pyarrow", "parquet")
        self.parquet = require("pyarrow.parquet", "parquet")
        self._partial = Path(partial_of(path))
        self._writer: Any = None
        self.count = self.dim = 0

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
        try:
            if self._writer is None:
                self._writer = self.parquet.ParquetWriter(self._partial, table.schema)
            self._writer.write_table(table)
        except OSError as error:
            raise cannot_write(error).at(str(self.target)) from None

    def checkpoint(self, state: Record) -> None:
        """Do nothing: a Parquet file cannot be continued."""

    def finish(self, meta: Record) -> Record:
        """Complete the file and give it its name; returns the metadata as written."""
        meta = {**meta, "count": self.count, "dim": self.dim, "dtype": "float32"}
        self._writer.add_key_value_metadata({"structkit": orjson.dumps(meta).decode()})
        try:
            self._writer.close()
            keep_mode(str(self._partial), str(self.target))
            os.replace(self._partial, self.target)
        except OSError as error:
            raise cannot_write(error).at(str(self.target)) from None
        return meta

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._writer is not None and kind is not None:
            with suppress(OSError):  # of a full disk, which was told
                self._writer.close()
        self._partial.unlink(missing_ok=True)


def as_text(value: object) -> str | None:
    """A value of a text column.

    >>> as_text("go"), as_text([1, 2]), as_text(None)
    ('go', '[1,2]', None)
    """
    if value is None or isinstance(value, str):
        return value
    return orjson.dumps(value).decode()
