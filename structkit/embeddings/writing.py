"""Embeddings on disk, written as they come: NAME.npy with ids and metadata, or Parquet.

Beside NAME.npy are NAME.ids.txt, NAME.meta.json, for chunks NAME.doc_ids.txt, for kept fields
NAME.fields.jsonl, NAME.hashes.txt with the hash of each row's source, and for 8-bit rows
NAME.scales.f32. Rows of tokens have no ids of their own: NAME.ids.txt and NAME.hashes.txt have a
line for each document, NAME.rows.txt its number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from itertools import groupby
from typing import Any

import numpy as np
import orjson
from numpy.lib import format as npy
from numpy.typing import NDArray

from structkit.embeddings import (
    DOC_IDS_SUFFIX,
    FIELDS_SUFFIX,
    HASHES_SUFFIX,
    IDS_SUFFIX,
    META_SUFFIX,
    ROWS_SUFFIX,
    SCALES_SUFFIX,
)
from structkit.embeddings.reading import fingerprint, id_line
from structkit.embeddings.vectors import QUANTIZED_TYPES, EmbeddingRow, column_count, quantize
from structkit.extras import require
from structkit.records.jsonl import Record
from structkit.records.output import (
    WholeFile,
    as_text,
    indented,
    keep_together,
    partial_of,
    write_errors,
)

FLOAT32_TYPE = "<f4"
NPY_HEADER_BYTES = 128  # bytes that NumPy takes for it, whatever the number of rows
JSONL_REMEDY = "write JSONL, or change the id"


class VectorFiles:
    """Files that appear together when all vectors are there; memory does not grow.

    With `chunks` the ids of documents are written too, with `fields` the fields of rows, with
    `hashes` the hashes of their sources. With `counts` rows have the ids of their documents, which
    are written once. `quantize` is one of `QUANTIZED_TYPES`. Errors: `UserError` if a file cannot
    be written, or an id holds a line break.
    """

    def __init__(
        self,
        path: str,
        *,
        chunks: bool = False,
        counts: bool = False,
        fields: bool = False,
        hashes: bool = False,
        quantize: str | None = None,
    ) -> None:
        self.path, self.counts, self.quantize = path, counts, quantize
        self.count = self.dim = 0
        optional = {
            SCALES_SUFFIX: quantize == "int8",
            DOC_IDS_SUFFIX: chunks,
            HASHES_SUFFIX: hashes,
            FIELDS_SUFFIX: fields,
            ROWS_SUFFIX: counts,
        }
        stem = path.removesuffix(".npy")
        self._unwritten = [stem + suffix for suffix, asked in optional.items() if not asked]
        for other in self._unwritten:
            partial_of(other)  # removes what a killed run with other files left
        # the ids, which all readers need, come last
        suffixes = (suffix for suffix, asked in optional.items() if asked)
        self._files: dict[str, WholeFile] = {}
        with write_errors(path), ExitStack() as opened:
            for suffix in (".npy", *suffixes, META_SUFFIX, IDS_SUFFIX):
                self._files[suffix] = WholeFile(stem + suffix)
                opened.callback(self._files[suffix].drop)
            self._files[".npy"].handle.write(b"\0" * NPY_HEADER_BYTES)
            self._opened = opened.pop_all()

    def __enter__(self) -> VectorFiles:
        return self

    def add(self, rows: Sequence[EmbeddingRow], embeddings: NDArray[np.float32]) -> None:
        """Append rows and their embeddings (rows, dim)."""
        if self.quantize:
            values, scales = quantize(embeddings, self.quantize)
        else:
            values, scales = np.ascontiguousarray(embeddings, FLOAT32_TYPE), None
        of_documents = [list(group) for _, group in groupby(rows, lambda row: row.document)]
        with_ids = [group[0] for group in of_documents] if self.counts else rows
        ids = [row.document if self.counts else row.id for row in with_ids]
        contents = {
            ".npy": values.tobytes(),
            IDS_SUFFIX: "".join(id_line(each, JSONL_REMEDY) for each in ids).encode(),
            DOC_IDS_SUFFIX: "".join(id_line(row.document, JSONL_REMEDY) for row in rows).encode(),
            HASHES_SUFFIX: "".join(f"{row.hash}\n" for row in with_ids).encode(),
            FIELDS_SUFFIX: b"".join([orjson.dumps(row.fields) + b"\n" for row in rows]),
            SCALES_SUFFIX: b"" if scales is None else scales.astype(FLOAT32_TYPE).tobytes(),
            ROWS_SUFFIX: "".join(f"{len(group)}\n" for group in of_documents).encode(),
            META_SUFFIX: b"",
        }
        self.dim = embeddings.shape[1]
        self.count += len(rows)
        with write_errors(self.path):
            for suffix, file in self._files.items():
                file.handle.write(contents[suffix])

    def finish(self, meta: Record) -> Record:
        """Complete the files and give them their names; returns the metadata as written."""
        dtype = QUANTIZED_TYPES.get(self.quantize or "", FLOAT32_TYPE)
        shape = (self.count, column_count(self.dim, self.quantize))
        header = {"descr": dtype, "fortran_order": False, "shape": shape}
        meta = {**meta, "count": self.count, "dim": self.dim, "dtype": str(np.dtype(dtype))}
        with write_errors(self.path):
            self._files[".npy"].handle.seek(0)
            npy.write_array_header_1_0(self._files[".npy"].handle, header)
            for file in self._files.values():
                file.handle.flush()
            meta["files"] = {
                suffix: fingerprint(file.handle, suffix)
                for suffix, file in self._files.items()
                if suffix != META_SUFFIX
            }
            self._files[META_SUFFIX].handle.write(indented(meta))
            keep_together([*self._files.values()], self._unwritten)
        return meta

    def __exit__(self, *_: Any) -> None:
        self._opened.close()


# the fields of a part's place that are numbers
PLACE_FIELDS = ("start", "end", "node", "lines", "span")


class ParquetFile:
    """File that appears when all rows are there; a window of rows is a row group.

    A field's column is text, with other values as JSON; the numbers of a part are integers:
    `start`, `end`, `node`, and two each in `lines` and `span`. The metadata is in the schema under
    `structkit`. Errors: `UserError` if the package is missing or the file cannot be written.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.arrow = require("pyarrow", "parquet")
        self.parquet = require("pyarrow.parquet", "parquet")
        self._writer: Any = None
        self.count = self.dim = 0
        with write_errors(path):
            self._file = WholeFile(path)

    def __enter__(self) -> ParquetFile:
        return self

    def add(self, rows: Sequence[EmbeddingRow], embeddings: NDArray[np.float32]) -> None:
        """Append rows and their embeddings (rows, dim)."""
        arrow, string = self.arrow, self.arrow.string()
        self.dim = embeddings.shape[1]
        self.count += len(rows)
        values = arrow.array(np.ascontiguousarray(embeddings).ravel())
        columns = {
            "id": arrow.array([row.id for row in rows], string),
            "embedding": arrow.FixedSizeListArray.from_arrays(values, self.dim),
        }
        are_parts = rows[0].doc_id is not None
        if are_parts:
            columns["doc_id"] = arrow.array([row.doc_id for row in rows], string)
        for name in rows[0].fields:
            column = [row.fields[name] for row in rows]
            if are_parts and name in PLACE_FIELDS:
                columns[name] = arrow.array(column)
            else:
                columns[name] = arrow.array(map(as_text, column), string)
        table = arrow.table(columns)
        with write_errors(self.path):
            if self._writer is None:
                self._writer = self.parquet.ParquetWriter(self._file.handle, table.schema)
            self._writer.write_table(table)

    def finish(self, meta: Record) -> Record:
        """Complete the file and give it its name; returns the metadata as written."""
        meta = {**meta, "count": self.count, "dim": self.dim, "dtype": "float32"}
        with write_errors(self.path):
            self._writer.add_key_value_metadata({"structkit": orjson.dumps(meta).decode()})
            self._writer.close()
            self._file.keep()
        return meta

    def __exit__(self, error_type: Any, *_: Any) -> None:
        if self._writer is not None and error_type is not None:
            with suppress(OSError):
                self._writer.close()
        self._file.drop()
