"""Embeddings in matrix files: NAME.npy with the files beside it, and Parquet."""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import dataclass, field, replace
from tokenize import TokenError
from typing import Any

import numpy as np
import orjson

from structkit.embeddings.fingerprints import check_together
from structkit.embeddings.quantized import FLOATS, KINDS, SCALES, BinaryRows, Int8Rows, columns
from structkit.embeddings.vectors import CodedRows, Floats, Matrix, Numbers, largest_norm
from structkit.errors import UserError, flag
from structkit.extras import require
from structkit.paths import refuse_pipe
from structkit.records.jsonl import Record, json_kind
from structkit.records.lines import cannot_read

MAKER = "write it with structkit encode -o"
AGAIN = "encode the corpus again"
HASHES = ".hashes.txt"
# facts of a run that do not affect the numbers of a row
ELSEWHERE = frozenset(
    (
        *("model", "keep", "batch_tokens", "count", "dim", "run", "files"),
        *("records", "sha256", "precision"),
    )
)
ARCHIVE = "give the array in it alone: numpy.save('NAME.npy', archive['KEY'])"
# what NumPy raises for headers that are damaged or lie, nested deeply, of numbers too large
DAMAGE = (
    *(ValueError, TypeError, LookupError, SyntaxError, EOFError, OverflowError, MemoryError),
    *(RecursionError, TokenError),
)
MOST = 2.0**57  # of a scale: the square of 127 times as much is a float32


@dataclass(frozen=True)
class Embeddings:
    """The rows of a corpus: the document of each, and the largest norm.

    `ids` are the rows' own ids (a chunk's, where a document has several), `fields` what was kept
    with each row (empty unless asked for), `model` the hash of the model that made them.
    """

    doc_ids: list[str]
    vectors: Matrix  # (rows, dimensions)
    largest_norm: float
    ids: list[str] = field(default_factory=list)
    fields: list[Record] = field(default_factory=list)
    model: str | None = None

    @property
    def dimensions(self) -> int:
        return self.vectors.shape[1]

    def __post_init__(self) -> None:
        if not self.ids:
            object.__setattr__(self, "ids", self.doc_ids)

    def taken(self, rows: Numbers) -> Embeddings:
        """Some of the rows, in that order."""
        return replace(
            self,
            doc_ids=[self.doc_ids[row] for row in rows],
            vectors=self.vectors.taken(rows),
            ids=[self.ids[row] for row in rows],
            fields=[self.fields[row] for row in rows] if self.fields else [],
        )


def add_new(identifier: str, seen: set[str]) -> None:
    """Remember an id; one that was seen before raises."""
    if identifier in seen:
        raise UserError(f'id "{identifier}" is repeated', "give each record its own id")
    seen.add(identifier)


def read_matrix(path: str, *, fields: bool = False, looked: bool = True) -> Embeddings:
    """The embeddings of `NAME.npy`, memory-mapped, with the ids in `NAME.ids.txt`.

    Integers are rows that `encode --quantize` wrote: `NAME.meta.json` says which. Unless `looked`,
    rows are not read yet: the largest norm is infinite.
    """
    try:
        vectors: Any = mapped(path)
    except OSError as error:
        raise cannot_read(error).at(path) from None
    except ValueError as error:
        raise UserError(
            f"is damaged, or not a .npy file of numbers (NumPy: {error})", f"{MAKER} NAME.npy"
        ).at(path) from None
    if not isinstance(vectors, np.ndarray):
        raise UserError("is an archive of arrays", ARCHIVE).at(path)
    stem = path.removesuffix(".npy")
    kind = next((each for each, code in KINDS.items() if vectors.dtype == code), None)
    if vectors.ndim != 2 or not (vectors.dtype.kind == "f" or kind) or 0 in vectors.shape:
        raise _no_floats(path, vectors, "")
    ids = unique(read_ids(f"{stem}.ids.txt", len(vectors)), f"{stem}.ids.txt")
    beside = f"{stem}.meta.json"
    meta = read_meta(beside, *vectors.shape, kind=kind) if os.path.exists(beside) else {}
    if meta.get("quantize") != kind:
        raise _no_floats(path, vectors, f", and {beside} says nothing of {flag('quantize', kind)}")
    rows = _quantized(stem, vectors, kind, meta) if kind else vectors
    chunks, kept = f"{stem}.doc_ids.txt", f"{stem}.fields.jsonl"
    doc_ids = read_ids(chunks, len(vectors)) if os.path.exists(chunks) else ids
    records = read_fields(kept, len(ids)) if fields and os.path.exists(kept) else []
    read = {".ids.txt": True, ".doc_ids.txt": doc_ids is not ids, ".fields.jsonl": bool(records)}
    read[SCALES] = kind == "int8"
    check_together(path, meta, [".npy", *(ending for ending in read if read[ending])])
    facts = doc_ids, Matrix([rows]), ids, records, meta.get("model_sha256")
    return _of_rows(path, *facts, looked=looked and not isinstance(rows, BinaryRows))


def _no_floats(path: str, vectors: Any, more: str) -> UserError:
    problem = f"holds {vectors.dtype} {vectors.shape}, not floats (documents, dimensions){more}"
    return UserError(problem, f"{MAKER} NAME.npy").at(path)


def _quantized(stem: str, codes: Any, kind: str, meta: Record) -> CodedRows:
    if kind == "binary":
        return BinaryRows(codes, meta["dim"])
    path = stem + SCALES
    try:
        size = os.path.getsize(path)
        if size != 4 * len(codes):
            problem = f"holds {size:,} bytes for {len(codes):,} scales of 4 bytes"
            raise UserError(problem, AGAIN).at(path)
        scales: Any = np.memmap(path, FLOATS, mode="r")
    except OSError as error:
        raise cannot_read(error).at(path) from None
    if not ((scales >= 0) & (scales < MOST)).all():
        problem = "is damaged: a scale is negative, or not finite, or too large for float32"
        raise UserError(problem, AGAIN).at(path)
    return Int8Rows(codes, scales)


def mapped(path: str) -> Any:
    """The array in a .npy file, not read before it is used; never a pickle.

    Errors: `ValueError` with what NumPy says of a header that is damaged, or says what is not so;
    `UserError` for a pipe.
    """
    refuse_pipe(path, "a .npy file")
    try:
        with warnings.catch_warnings(action="ignore"):  # of sizes beyond all numbers
            return np.load(path, mmap_mode="r", allow_pickle=False)
    except DAMAGE as error:
        raise ValueError(str(error).partition(".")[0][:200] or type(error).__name__) from None


def _of_rows(
    path: str, doc_ids: list[str], rows: Matrix, *rest: Any, looked: bool = True
) -> Embeddings:
    """Rows with the largest norm; where they are not looked at, a bound of it."""
    unread = 1.0 if isinstance(rows.parts[0], BinaryRows) else math.inf
    try:
        return Embeddings(doc_ids, rows, largest_norm(rows) if looked else unread, *rest)
    except UserError as error:
        raise error.at(path) from None


def read_parquet(path: str, *, fields: bool = False) -> Embeddings:
    """The embeddings of `NAME.parquet`: a list of numbers in each row, all of the same length.

    They are in the column `embedding`, or Pyserini's `vector`; other columns are `id`, for chunks
    `doc_id`, and kept fields.
    """
    arrow, parquet = require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
    refuse_pipe(path, "a Parquet file")
    try:
        file = parquet.ParquetFile(path)
        table = file.read()
    except (OSError, arrow.ArrowException) as error:
        if isinstance(error, OSError) and error.errno:
            raise cannot_read(error).at(path) from None
        problem = f"is not a Parquet file, or a damaged one ({str(error).partition('.')[0]})"
        raise UserError(problem, f"{MAKER} NAME.parquet").at(path) from None
    numbers = next((each for each in ("embedding", "vector") if each in table.column_names), "")
    if "id" not in table.column_names or not numbers or not len(table):
        columns = ", ".join(table.column_names)
        raise UserError(
            f"holds {len(table):,} rows of {columns or 'no columns'}, not id and embedding",
            f"{MAKER} NAME.parquet",
        ).at(path)
    known = [each for each in ("id", "doc_id") if each in table.column_names]
    texts = {each: table[each].to_pylist() for each in known}
    ids = [str(each) for each in texts["id"]]
    kept = table.drop_columns([numbers, *texts]) if fields else None
    return _of_rows(
        path,
        [str(each) for each in texts.get("doc_id", ids)],
        Matrix([_numbers(table[numbers], len(table), path)]),
        unique(ids, path),
        kept.to_pylist() if kept is not None and kept.num_columns else [],
        _facts(file.metadata.metadata or {}).get("model_sha256"),
    )


def _numbers(column: Any, rows: int, path: str) -> Floats:
    """A column of lists as a matrix (rows, dimensions)."""
    compute = require("pyarrow.compute", "parquet")
    lists = str(column.type).startswith(("list", "fixed_size_list", "large_list"))
    lengths = compute.list_value_length(column).unique().to_pylist() if lists else []
    flat = compute.list_flatten(column) if len(lengths) == 1 and lengths[0] else None
    if flat is None or flat.null_count or str(flat.type) not in ("halffloat", "float", "double"):
        raise UserError(
            "has an embedding that is not a list of as many floats as the others",
            f"{MAKER} NAME.parquet",
        ).at(path)
    matrix: Floats = flat.to_numpy().reshape(rows, lengths[0])
    return matrix


def _facts(metadata: dict[bytes, bytes]) -> Record:
    facts = orjson.loads(metadata.get(b"structkit", b"{}"))
    return facts if isinstance(facts, dict) else {}


def unique(ids: list[str], path: str) -> list[str]:
    """The same ids; a repeated one raises with its line in the file."""
    seen: set[str] = set()
    for number, identifier in enumerate(ids, 1):
        try:
            add_new(identifier, seen)
        except UserError as error:
            raise error.at(path, number) from None
    return ids


def read_ids(path: str, rows: int, again: str = AGAIN) -> list[str]:
    """The ids in a file, one per line, as many as there are embeddings; `again` makes the file."""
    try:
        with open(path, encoding="utf-8", newline="\n") as handle:
            lines = handle.read().removesuffix("\n").split("\n")
    except (OSError, ValueError) as error:
        failed = cannot_read(error)
        if isinstance(error, FileNotFoundError):  # the last file of a run that was killed
            failed.remedy = f"write one id a line, or {again}"
        raise failed.at(path) from None
    if len(lines) != rows:
        raise UserError(f"holds {len(lines):,} ids for {rows:,} embeddings", again).at(path)
    return lines


def read_fields(path: str, rows: int, again: str = AGAIN) -> list[Record]:
    """The kept fields of embeddings, one JSON object per line."""
    try:
        with open(path, "rb") as handle:
            records = [orjson.loads(line) for line in handle]
    except (OSError, ValueError) as error:
        raise cannot_read(error).at(path) from None
    if len(records) != rows or not all(type(record) is dict for record in records):
        problem = f"holds {len(records):,} records for {rows:,} embeddings"
        raise UserError(problem, again).at(path)
    return records


def read_meta(
    path: str, rows: int, width: int, *, kind: str | None = None, again: str = AGAIN
) -> Record:
    """What `meta.json` says of embeddings in an array of that shape: their number, model, and more.

    `kind` is that of codes: bits take fewer columns than they are dimensions.
    """
    try:
        with open(path, "rb") as handle:
            meta = orjson.loads(handle.read())
    except OSError as error:
        raise cannot_read(error).at(path) from None
    except ValueError as error:
        raise UserError(f"is damaged: it is not JSON ({error})", again).at(path) from None
    if not isinstance(meta, dict) or not {"count", "dim"} <= meta.keys():
        raise UserError("is not a JSON object with count and dim", again).at(path)
    shape = count, dim = meta["count"], meta["dim"]
    if count != rows or type(dim) is not int or columns(dim, kind) != width:
        raise UserError(f"says {shape}, but the matrix is {(rows, width)}", again).at(path)
    model = meta.get("model_sha256")
    if model is not None and not isinstance(model, str):
        raise UserError(f"model_sha256 is {json_kind(model)}, not a string", again).at(path)
    return meta


def differing(run: Record, other: Record) -> list[str]:
    """The settings in which two runs differ, of those that rows depend on.

    >>> differing({"dtype": "fp32", "keep": ["n"]}, {"dtype": "bf16", "side": "query"})
    ['dtype', 'side']
    """
    names = dict.fromkeys([*run, *other])
    return [name for name in names if name not in ELSEWHERE and run.get(name) != other.get(name)]


def hashes_of(path: str, rows: int, meta: Record) -> list[str]:
    """The hash of what was read from the record of each row; `meta` is what is beside them."""
    hashes = read_ids(path.removesuffix(".npy") + HASHES, rows)
    check_together(path, meta, [HASHES])
    return hashes
