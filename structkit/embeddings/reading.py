"""Embeddings read from files: JSONL records, NAME.npy with the files beside it, Parquet.

Tests: tests/hostile/test_spoiled.py.
"""

from __future__ import annotations

import hashlib
import math
import os
import warnings
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BufferedRandom, BufferedReader
from typing import Any

import numpy as np
import orjson

from structkit.embeddings import (
    DOC_IDS_SUFFIX,
    FIELDS_SUFFIX,
    HASHES_SUFFIX,
    IDS_SUFFIX,
    META_SUFFIX,
    ROWS_SUFFIX,
    SCALES_SUFFIX,
    SUFFIXES_BESIDE,
)
from structkit.embeddings.vectors import (
    CODE_TYPES,
    TOO_LARGE,
    UNIT_TOLERANCE,
    BinaryRows,
    Floats,
    Int8Rows,
    IntArray,
    Matrix,
    Vectors,
    are_unit,
    column_count,
    largest_norm,
)
from structkit.errors import UserError, flag, program
from structkit.extras import require
from structkit.paths import refuse_pipe
from structkit.records.jsonl import (
    Record,
    Records,
    add_new,
    cannot_read,
    id_text,
    input_name,
    not_utf8,
    parse_each,
)

MATRIX_ENDINGS = (".npy", ".npz", ".parquet")
ENCODE_AGAIN = "encode the corpus again"
# facts of a run that do not affect the numbers of a row
UNRELATED_SETTINGS = frozenset(
    "model keep batch_tokens count dim run files precision similarity".split()
)
MAX_INT8_SCALE = 2.0**57  # so that the square of the largest number, 127 times it, is a float32
NUMBER_TYPES = frozenset((float, int))
# the fields of an embedding that are not kept ones
EMBEDDING_FIELDS = frozenset(("id", "doc_id", "embedding"))
HASHED_PARTS = 256  # of a file of numbers
HASHED_PART_BYTES = 4096


@dataclass(frozen=True)
class Embeddings:
    """Rows of a corpus: the document of each, and the largest norm.

    `ids` are the rows' own ids (a chunk's, if a document has several), `fields` the kept fields of
    each row (empty unless asked for), `meta` the files' metadata of the model and the run.
    """

    doc_ids: list[str]
    vectors: Matrix  # (rows, dimensions)
    largest_norm: float
    ids: list[str]
    fields: list[Record] = field(default_factory=list)
    meta: Record = field(default_factory=dict)

    @property
    def dimensions(self) -> int:
        return self.vectors.shape[1]

    @property
    def model(self) -> str | None:
        """The hash of the model that made them, where it is known."""
        return self.meta.get("model_sha256")

    @property
    def is_unit(self) -> bool:
        """Whether all rows have length 1, up to what codes or 16 bits round."""
        known: bool | None = self.meta.get("unit")
        return are_unit(self.vectors, UNIT_TOLERANCE) if known is None else known

    def take(self, rows: IntArray) -> Embeddings:
        """Return some of the rows, in that order."""
        return replace(
            self,
            doc_ids=[self.doc_ids[row] for row in rows],
            vectors=self.vectors.take(rows),
            ids=[self.ids[row] for row in rows],
            fields=[self.fields[row] for row in rows] if self.fields else [],
        )


def read_embeddings(files: Sequence[str], *, fields: bool = False, scan: bool = True) -> Embeddings:
    """Read the embeddings of JSONL files, or of matrices (`NAME.npy`, `NAME.parquet`).

    A record is `{id, embedding}`, with `doc_id` if it is a chunk of a document. Beside `NAME.npy`
    (rows, dimensions) are `NAME.ids.txt`, one id per line, for chunks `NAME.doc_ids.txt`, and for
    kept fields `NAME.fields.jsonl`. `fields` reads the other fields of rows. Without `scan`, rows
    of .npy files are not read: their NaN and largest norm are unknown. Errors: repeated ids,
    differing dimensions or models, NaN, an empty corpus.
    """
    if not any(name.endswith(MATRIX_ENDINGS) for name in files):
        return read_embedding_records(Records.read(files), fields=fields)
    parts = [
        read_parquet(name, fields=fields)
        if name.endswith(".parquet")
        else read_matrix(name, fields=fields, scan=scan)
        for name in files
    ]
    return concatenate(parts, files)


@contextmanager
def read_errors(path: str, again: str = ENCODE_AGAIN) -> Iterator[None]:
    """Raise a `UserError` if a file cannot be read; `again` is the remedy that makes it anew."""
    refuse_pipe(path, "a file of embeddings")
    try:
        yield
    except (OSError, ValueError, TypeError, LookupError) as error:
        failed = cannot_read(error)
        if isinstance(error, FileNotFoundError) or not isinstance(error, OSError):
            failed.remedy = again
        raise failed.at(getattr(error, "filename", None) or path) from None


def concatenate(parts: Sequence[Embeddings], files: Sequence[str]) -> Embeddings:
    """Return several matrices as one corpus; each id is in one of them only."""
    first, seen = parts[0], set[str]()
    for name, part in zip(files, parts, strict=True):
        check_comparable(part, first, name, files[0])
        if len(parts) > 1:
            try:
                for identifier in dict.fromkeys(part.ids):  # a document's rows may share one
                    add_new(identifier, seen)
            except UserError as error:
                raise error.at(name) from None
    vectors = [matrix for part in parts for matrix in part.vectors.parts]
    return Embeddings(
        [doc_id for part in parts for doc_id in part.doc_ids],
        Matrix(vectors),
        max(part.largest_norm for part in parts),
        [identifier for part in parts for identifier in part.ids],
        [record for part in parts for record in part.fields],
        first.meta,
    )


def check_comparable(part: Embeddings, other: Embeddings, file: str, other_file: str) -> None:
    """Raise if embeddings of two files differ in dimensions, or are known to do so in models."""
    if part.dimensions != other.dimensions:
        problem = f"has {part.dimensions} dimensions, but {input_name(other_file)} has "
        raise UserError(f"{problem}{other.dimensions}", "encode both with one model").at(file)
    same_model(part.model, other.model, file, other_file)


def same_model(model: str | None, other: str | None, file: str, other_file: str) -> None:
    """Raise if two files are known to be of different models."""
    if model and other and model != other:
        raise UserError(
            f"was encoded with another model than {input_name(other_file)}",
            "encode both with one model",
        ).at(file)


def read_embedding_records(records: Records, *, fields: bool = False) -> Embeddings:
    """Read the embeddings of records; an error has file and line."""
    values, dimensions = array("f"), 0
    doc_ids, ids, kept = list[str](), list[str](), list[Record]()

    def parse(record: Record) -> tuple[str, array[float]]:
        row = vector(record, dimensions=dimensions)
        if fields:
            kept.append({name: record[name] for name in record if name not in EMBEDDING_FIELDS})
        return document_id(record), row

    for row_id, (doc_id, row) in parse_each(records, parse):
        dimensions = len(row)
        ids.append(row_id)
        doc_ids.append(doc_id)
        values.extend(row)
    if not doc_ids:
        raise UserError("the corpus is empty", f"embed documents with {program('encode')}").at(
            records.lines.file
        )
    rows = np.frombuffer(values, np.float32).reshape(len(doc_ids), dimensions)
    vectors = Matrix([rows])
    return Embeddings(doc_ids, vectors, largest_norm(vectors), ids, kept)


def vector(record: Record, name: str = "embedding", dimensions: int = 0) -> array[float]:
    """Return an embedding of a record as float32; `dimensions`, if not 0, is the required size."""
    value = record.get(name)
    if type(value) is not list or not value or not NUMBER_TYPES.issuperset(map(type, value)):
        # NaN and infinity are written as null
        predicate = "is not a list of numbers" if name in record else "is missing"
        raise UserError(
            f'field "{name}" {predicate}',
            f"make embeddings with {program('encode')}, or search texts with "
            + flag("method", "bm25"),
        )
    try:
        row = array("f", value)
    except OverflowError:  # an integer that is beyond float64 too
        row = array("f", [math.inf])
    values = np.frombuffer(row, np.float32)
    with np.errstate(over="ignore"):
        if not np.isfinite(values @ values):
            raise UserError(f'field "{name}" holds numbers too large for float32', TOO_LARGE)
    if len(row) != (dimensions or len(row)):
        raise UserError(
            f'field "{name}" has {len(row)} dimensions, not {dimensions}',
            "encode queries and documents with one model",
        )
    return row


def stack_rows(rows: Iterable[array[float]]) -> Vectors:
    """Return embeddings as one matrix (rows, dimensions)."""
    return np.stack([np.frombuffer(row, np.float32) for row in rows])


def document_id(record: Record) -> str:
    """Return the id of a row's document, or its own."""
    return id_text(record.get("doc_id", record["id"]), "doc_id")


def read_matrix(path: str, *, fields: bool = False, scan: bool = True) -> Embeddings:
    """Read the embeddings of `NAME.npy`, memory-mapped, with the ids in `NAME.ids.txt`.

    Integers are rows that `encode --quantize` wrote, of the kind in `NAME.meta.json`. Without
    `scan`, rows are not read yet: the largest norm is infinite.
    """
    with read_errors(path, _encode_remedy(".npy")):
        vectors: Any = map_array(path)
    stem = path.removesuffix(".npy")
    kind = next((name for name, code in CODE_TYPES.items() if vectors.dtype == code), None)
    problem = f"holds {vectors.dtype} {vectors.shape}, not floats (documents, dimensions)"
    if vectors.ndim != 2 or not (vectors.dtype.kind == "f" or kind) or 0 in vectors.shape:
        raise UserError(problem, _encode_remedy(".npy")).at(path)
    present_files = {
        ending for ending in (".npy", *SUFFIXES_BESIDE) if os.path.exists(stem + ending)
    }
    counts = read_counts(stem, len(vectors))
    ids = read_ids(stem + IDS_SUFFIX, len(counts or vectors))
    ids = repeat_names(check_unique(ids, stem + IDS_SUFFIX), counts)
    meta: Record = {}
    if META_SUFFIX in present_files:
        meta = read_meta(stem + META_SUFFIX, *vectors.shape, kind=kind)
    if kind and meta.get("quantize") != kind:
        # as quantize_embeddings of sentence-transformers returns
        raise UserError(
            f"holds {vectors.dtype} codes without their ranges",
            f"save the floats, or use {program('encode', quantize='int8')}",
        ).at(path)
    read_files = {".npy", IDS_SUFFIX, DOC_IDS_SUFFIX, ROWS_SUFFIX}
    doc_ids, records = ids, list[Record]()
    if DOC_IDS_SUFFIX in present_files:
        doc_ids = read_ids(stem + DOC_IDS_SUFFIX, len(vectors))
    if fields and FIELDS_SUFFIX in present_files:
        records = read_fields(stem + FIELDS_SUFFIX, len(ids))
        read_files.add(FIELDS_SUFFIX)
    rows = Matrix([vectors])
    if kind == "binary":
        rows = Matrix([BinaryRows(vectors, meta["dim"])])
    elif kind:
        rows = Matrix([_int8_rows(stem, vectors)])
        read_files.add(SCALES_SUFFIX)
    check_together(path, meta, sorted(read_files & present_files))
    norm = 1.0
    if kind != "binary":
        norm = largest_norm(rows, path) if scan else math.inf
    return Embeddings(doc_ids, rows, norm, ids, records, meta)


def _encode_remedy(ending: str) -> str:
    return f"write it with {program('encode', output=f'NAME{ending}')}"


def _int8_rows(stem: str, codes: Any) -> Int8Rows:
    """Return codes with their scales."""
    path = stem + SCALES_SUFFIX
    with read_errors(path):
        scales = np.fromfile(path, "<f4")
    if len(scales) != len(codes) or not ((scales >= 0) & (scales < MAX_INT8_SCALE)).all():
        raise UserError(
            f"is damaged: it does not hold {len(codes):,} numbers of 4 bytes, 0 or more",
            ENCODE_AGAIN,
        ).at(path)
    return Int8Rows(codes, scales)


def map_array(path: str) -> Any:
    """Map the array in a .npy file, which is read on use; never a pickle.

    Errors: `ValueError` for a damaged or false header, with NumPy's reason.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # of sizes beyond all numbers
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(array, np.ndarray):
            raise ValueError("an archive of arrays")
        return array
    except OSError:
        raise
    except Exception as error:  # of nine classes, as headers are nested deeply, lie, or are cut
        raise ValueError(str(error).partition(".")[0][:200] or type(error).__name__) from None


def read_parquet(path: str, *, fields: bool = False) -> Embeddings:
    """Read the embeddings of `NAME.parquet`, lists of numbers of the same length.

    They are in the column `embedding`, or Pyserini's `vector`; other columns are `id`, for chunks
    `doc_id`, and kept fields.
    """
    arrow, parquet = require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
    with read_errors(path, _encode_remedy(".parquet")):
        try:
            file = parquet.ParquetFile(path)
            table = file.read()
            table.validate(full=True)  # texts are UTF-8
        except arrow.ArrowException as error:
            raise ValueError(str(error).partition(".")[0]) from None
    names = table.column_names
    vector_column = next((name for name in ("embedding", "vector") if name in names), "")
    if "id" not in names or not vector_column or not len(table):
        columns = ", ".join(names) or "no columns"
        raise UserError(
            f"holds {len(table):,} rows of {columns}, not id and embedding",
            _encode_remedy(".parquet"),
        ).at(path)
    ids = doc_ids = _parquet_ids(table["id"], "id", path)
    kept = table.drop_columns([vector_column, "id"])
    if "doc_id" in names:
        doc_ids = _parquet_ids(table["doc_id"], "doc_id", path)
        kept = kept.drop_columns("doc_id")
    rows = Matrix([_parquet_numbers(table[vector_column], path)])
    records = kept.to_pylist() if fields and kept.num_columns else []
    meta = orjson.loads((file.metadata.metadata or {}).get(b"structkit", b"{}"))
    meta = meta if isinstance(meta, dict) else {}
    norm = largest_norm(rows, path)
    return Embeddings(doc_ids, rows, norm, check_unique(ids, path), records, meta)


def _parquet_ids(column: Any, name: str, path: str) -> list[str]:
    """Return a column of ids; Spark and others write texts as bytes."""
    ids = []
    for row, value in enumerate(column.to_pylist(), 1):
        try:
            ids.append(id_text(value.decode() if isinstance(value, bytes) else value, name))
        except UnicodeDecodeError as error:
            raise not_utf8(error).at(path, row) from None
        except UserError as error:
            raise error.at(path, row) from None
    return ids


def _parquet_numbers(column: Any, path: str) -> Floats:
    """Return a column of lists as a matrix (rows, dimensions)."""
    compute = require("pyarrow.compute", "parquet")
    problem = "has an embedding that is not a list of as many floats as the others"
    form_error = UserError(problem, _encode_remedy(".parquet"))
    if not str(column.type).startswith(("list", "fixed_size_list", "large_list")):
        raise form_error.at(path)
    lengths = compute.fill_null(compute.list_value_length(column), 0).to_numpy()
    width = int(lengths[0])
    if not width or (lengths != width).any():
        raise form_error.at(path, int(np.argmax((lengths != width) | (lengths == 0))) + 1)
    values = compute.list_flatten(column)
    if str(values.type) not in ("halffloat", "float", "double"):
        raise form_error.at(path)
    if values.null_count:
        raise form_error.at(path, int(np.argmax(values.is_null().to_numpy())) // width + 1)
    numbers: Floats = values.to_numpy().reshape(-1, width)
    return numbers


def check_unique(ids: list[str], path: str) -> list[str]:
    """Return the same ids. Errors: a repeated one, with its line in the file."""
    seen: set[str] = set()
    for number, identifier in enumerate(ids, 1):
        try:
            add_new(identifier, seen)
        except UserError as error:
            raise error.at(path, number) from None
    return ids


def id_line(name: str, remedy: str = "change the id") -> str:
    """Return the line of an id in a file of ids. Errors: one that `read_ids` would change."""
    if len(name.splitlines()) > 1 or name != name.strip("\r\n"):
        raise UserError(f"id {name!r} holds a line break", remedy)
    if name.startswith("\ufeff"):
        raise UserError(f"id {name!r} begins with a byte order mark", remedy)
    return f"{name}\n"


def read_ids(path: str, rows: int, again: str = ENCODE_AGAIN) -> list[str]:
    """Read the ids in a file, one per line, as many as embeddings; `again` makes the file."""
    remedy = f"write one id a line, or {again}"  # it is the last file of a run that was killed
    with read_errors(path, remedy), open(path, encoding="utf-8-sig", newline="\n") as handle:
        # Windows ends lines with \r\n
        lines = [line.removesuffix("\r") for line in handle.read().removesuffix("\n").split("\n")]
    if len(lines) != rows:
        raise UserError(f"holds {len(lines):,} ids for {rows:,} embeddings", again).at(path)
    return lines


def kind_of_rows(path: str) -> str | None:
    """Return the kind of the rows of NAME.npy, if it is known."""
    beside = path.removesuffix(".npy") + META_SUFFIX
    if not path.endswith(".npy") or not os.path.exists(beside):
        return None
    with read_errors(beside), open(beside, "rb") as handle:
        meta = orjson.loads(handle.read())
    return meta.get("rows") if isinstance(meta, dict) else None


def read_counts(stem: str, rows: int) -> list[int] | None:
    """Read the number of rows of each document, one per line, together as many as embeddings."""
    path = stem + ROWS_SUFFIX
    if not os.path.exists(path):
        return None
    with read_errors(path), open(path, encoding="ascii") as handle:
        counts = [int(line) for line in handle]
    if sum(counts) != rows or min(counts) < 1:
        raise UserError(f"does not divide {rows:,} embeddings among documents", ENCODE_AGAIN).at(
            path
        )
    return counts


def repeat_names(names: list[str], counts: Sequence[int] | None) -> list[str]:
    """Return each name as often as its count says, or the same names without counts.

    >>> repeat_names(["a", "b"], [2, 1])
    ['a', 'a', 'b']
    """
    if counts is None:
        return names
    return [name for name, count in zip(names, counts, strict=True) for _ in range(count)]


def read_fields(path: str, rows: int, again: str = ENCODE_AGAIN) -> list[Record]:
    """Read the kept fields of embeddings, one JSON object per line."""
    with read_errors(path, again), open(path, "rb") as handle:
        records = [orjson.loads(line) for line in handle]
    if len(records) != rows or not all(type(record) is dict for record in records):
        raise UserError(f"holds {len(records):,} records for {rows:,} embeddings", again).at(path)
    return records


def read_meta(
    path: str, rows: int, width: int, *, kind: str | None = None, again: str = ENCODE_AGAIN
) -> Record:
    """Read `meta.json` of embeddings in an array of that shape: their number, model, and more.

    `kind` is the kind of codes: bits take fewer columns than dimensions.
    """
    with read_errors(path, again), open(path, "rb") as handle:
        meta = orjson.loads(handle.read())
    required = {"count": int, "dim": int}
    optional = {"model_sha256": str | None, "run": dict | None, "files": dict | None}
    if type(meta) is not dict or not all(
        isinstance(meta.get(name), form) for name, form in (required | optional).items()
    ):
        raise UserError("is not what structkit writes", again).at(path)
    count, dim = meta["count"], meta["dim"]
    if count != rows or column_count(dim, kind) != width:
        raise UserError(f"says {(count, dim)}, but the matrix is {(rows, width)}", again).at(path)
    return meta


def read_hashes(path: str, embeddings: Embeddings) -> list[str]:
    """Read the hash of the source of each row of NAME.npy."""
    stem = path.removesuffix(".npy")
    counts = read_counts(stem, len(embeddings.ids))
    hashes = read_ids(stem + HASHES_SUFFIX, len(counts or embeddings.ids))
    check_together(path, embeddings.meta, [HASHES_SUFFIX])
    return repeat_names(hashes, counts)


def fingerprint(handle: BufferedReader | BufferedRandom, ending: str) -> str:
    """Return a hash of a file: of all text, or of parts spread evenly over numbers.

    Numbers may be larger than memory, and another run's differ nearly everywhere.
    """
    handle.seek(0)
    if ending not in (".npy", SCALES_SUFFIX):
        return hashlib.file_digest(handle, "sha256").hexdigest()
    size = os.fstat(handle.fileno()).st_size
    digest = hashlib.sha256(str(size).encode())
    last = max(0, size - HASHED_PART_BYTES)
    for start in sorted({last * number // (HASHED_PARTS - 1) for number in range(HASHED_PARTS)}):
        digest.update(os.pread(handle.fileno(), HASHED_PART_BYTES, start))
    return digest.hexdigest()


def check_together(path: str, meta: Record, endings: Iterable[str]) -> None:
    """Raise if a file beside `path` (NAME.npy) does not belong to its metadata.

    Metadata of other programs has no fingerprints.
    """
    if "files" not in meta:
        return
    stem = path.removesuffix(".npy")
    for ending in endings:
        with read_errors(stem + ending), open(stem + ending, "rb") as handle:
            same = meta["files"].get(ending) == fingerprint(handle, ending)
        if not same:
            raise UserError(
                f"does not belong to {stem}{META_SUFFIX}: it was written by another run",
                ENCODE_AGAIN,
            ).at(stem + ending)


def differing_settings(run: Record, other: Record) -> list[str]:
    """Return the settings on which rows depend and in which two runs differ.

    >>> differing_settings({"dtype": "fp32", "keep": ["n"]}, {"dtype": "bf16", "side": "query"})
    ['dtype', 'side']
    """
    names = dict.fromkeys([*run, *other])
    return [
        name
        for name in names
        if name not in UNRELATED_SETTINGS and run.get(name) != other.get(name)
    ]
