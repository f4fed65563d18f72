"""Read embeddings: JSONL records, or memory-mapped matrices with their ids beside them."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import orjson

from structkit.embeddings.vectors import TOO_LARGE, Floats, Numbers, Rows, Vectors, largest_norm
from structkit.errors import UserError
from structkit.records.jsonl import Record, Records, cannot_read, json_kind

T = TypeVar("T")


@dataclass(frozen=True)
class Embeddings:
    """The rows of a corpus: which document each belongs to, and how long the longest is.

    `ids` are the rows' own ids (a chunk's, where a document has several), `fields` what was kept
    beside each row (empty where nothing was asked for), `model` the hash of the model they are of.
    """

    doc_ids: list[str]
    vectors: Rows  # (rows, dimensions)
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


def read_embeddings(
    files: Sequence[str], *, normalize: bool = False, fields: bool = False
) -> Embeddings:
    """The embeddings of JSONL files together, or of matrices `NAME.npy` together.

    A record is `{id, embedding}`, and `doc_id` where it is a chunk of a document. Beside
    `NAME.npy` (rows, dimensions) stand `NAME.ids.txt`, one id a line, for chunks
    `NAME.doc_ids.txt`, and what was kept in `NAME.fields.jsonl`. `normalize` scales every row to
    length 1, `fields` reads what else the rows have. Repeated ids, differing dimensions or models,
    NaN and an empty corpus raise.
    """
    matrices = [name for name in files if name.endswith(".npy")]
    if not matrices:
        return read_records(Records.read(files), normalize=normalize, fields=fields)
    if len(matrices) < len(files):
        raise UserError("a corpus is JSONL or .npy files, not both", "name one kind")
    return together([read_matrix(name, fields=fields) for name in files], files, normalize)


def together(found: list[Embeddings], files: Sequence[str], normalize: bool) -> Embeddings:
    """Several matrices as one corpus; each id stands in one of them only."""
    first, seen = found[0], set[str]()
    for name, part in zip(files, found, strict=True):
        if part.dimensions != first.dimensions:
            raise UserError(
                f"has {part.dimensions} dimensions, and {files[0]} has {first.dimensions}",
                "encode all files with one model",
            ).at(name)
        same_model(part.model, first.model, name, files[0])
        if len(found) > 1:
            try:
                for identifier in part.ids:
                    add_new(identifier, seen)
            except UserError as error:
                raise error.at(name) from None
    vectors = Rows([matrix for part in found for matrix in part.vectors.parts], normalize=normalize)
    return Embeddings(
        [doc_id for part in found for doc_id in part.doc_ids],
        vectors,
        largest_norm(vectors) if normalize else max(part.largest_norm for part in found),
        [identifier for part in found for identifier in part.ids],
        [record for part in found for record in part.fields],
        first.model,
    )


def same_model(model: str | None, other: str | None, file: str, other_file: str) -> None:
    """Raise where two files are known to be of different models."""
    if model and other and model != other:
        raise UserError(
            f"was encoded with another model than {other_file}", "encode both with one model"
        ).at(file)


def read_records(records: Records, *, normalize: bool = False, fields: bool = False) -> Embeddings:
    """The embeddings of records; an error knows file and line."""
    values, dimensions = array("f"), 0
    doc_ids, ids, kept = list[str](), list[str](), list[Record]()

    def parse(record: Record) -> tuple[str, array[float]]:
        row = vector(record, dimensions)
        if fields:
            kept.append({name: record[name] for name in record if name not in KNOWN})
        return _document(record), row

    for row_id, (doc_id, row) in identified(records, parse):
        dimensions = len(row)
        ids.append(row_id)
        doc_ids.append(doc_id)
        values.extend(row)
    if not doc_ids:
        raise UserError("the corpus is empty", "embed documents with structkit encode").at(
            records.lines.file
        )
    matrix = np.frombuffer(values, np.float32).reshape(len(doc_ids), dimensions)
    vectors = Rows([matrix], normalize=normalize)
    return Embeddings(doc_ids, vectors, largest_norm(vectors), ids, kept)


KNOWN = frozenset(("id", "doc_id", "embedding", "downward"))


def identified(records: Records, parse: Callable[[Record], T]) -> Iterator[tuple[str, T]]:
    """The id of each record and what `parse` makes of it; an error knows file and line.

    A repeated id raises.
    """
    seen: set[str] = set()
    try:
        for record in records:
            add_new(record["id"], seen)
            yield record["id"], parse(record)
    except UserError as error:
        raise records.place(error) from None


def add_new(identifier: str, seen: set[str]) -> None:
    """Remember an id; one that was seen before raises."""
    if identifier in seen:
        raise UserError(f'id "{identifier}" is repeated', "ids are unique within a collection")
    seen.add(identifier)


def vector(record: Record, dimensions: int = 0) -> array[float]:
    """The embedding of a record as float32; `dimensions`, where not 0, is what it must have."""
    value = record.get("embedding")
    if type(value) is not list:
        raise UserError(
            'field "embedding" is '
            + ("missing" if "embedding" not in record else f"{json_kind(value)}, not an array"),
            "make embeddings with structkit encode, or search texts with --method bm25",
        )
    try:
        row = array("f", value)
    except TypeError:
        wrong = next(item for item in value if not isinstance(item, int | float))
        hint = "; NaN is written as null" if wrong is None else ""
        raise UserError(
            f'field "embedding" holds {json_kind(wrong)}, not only numbers{hint}',
            "encode the record again",
        ) from None
    if len(row) != (dimensions or len(row)) or not row:
        raise UserError(
            f'field "embedding" has {len(row)} dimensions, not {dimensions or "1 or more"}',
            "encode queries and documents with one model",
        )
    values = np.frombuffer(row, np.float32)
    with np.errstate(over="ignore"):
        if not np.isfinite(values @ values):
            raise UserError('field "embedding" holds numbers too large for float32', TOO_LARGE)
    return row


def _document(record: Record) -> str:
    found = record.get("doc_id", record["id"])
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise UserError(f'field "doc_id" is {json_kind(found)}', "an id is a string")
    return str(found)


def read_matrix(path: str, *, fields: bool = False) -> Embeddings:
    """The embeddings of `NAME.npy`, memory-mapped, with the ids in `NAME.ids.txt`."""
    try:
        vectors: Floats = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise cannot_read(error).at(path) from None
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or 0 in vectors.shape:
        raise UserError(
            f"holds {vectors.dtype} {vectors.shape}, not floats (documents, dimensions)",
            "write it with structkit encode -o NAME.npy",
        ).at(path)
    stem = path.removesuffix(".npy")
    ids = _lines(f"{stem}.ids.txt", vectors)
    seen: set[str] = set()
    for number, identifier in enumerate(ids, 1):
        try:
            add_new(identifier, seen)
        except UserError as error:
            raise error.at(f"{stem}.ids.txt", number) from None
    meta = _meta(f"{stem}.meta.json", vectors)
    chunks, kept = f"{stem}.doc_ids.txt", f"{stem}.fields.jsonl"
    doc_ids = _lines(chunks, vectors) if os.path.exists(chunks) else ids
    found = _fields(kept, len(ids)) if fields and os.path.exists(kept) else []
    rows = Rows([vectors])
    try:
        return Embeddings(doc_ids, rows, largest_norm(rows), ids, found, meta.get("model_sha256"))
    except UserError as error:
        raise error.at(path) from None


def _lines(path: str, vectors: Floats) -> list[str]:
    try:
        with open(path, encoding="utf-8", newline="\n") as handle:
            lines = handle.read().removesuffix("\n").split("\n")
    except (OSError, ValueError) as error:
        raise cannot_read(error).at(path) from None
    if len(lines) != len(vectors):
        raise UserError(
            f"holds {len(lines):,} ids for {len(vectors):,} embeddings", "encode the corpus again"
        ).at(path)
    return lines


def _fields(path: str, rows: int) -> list[Record]:
    try:
        with open(path, "rb") as handle:
            found = [orjson.loads(line) for line in handle]
    except (OSError, ValueError) as error:
        raise cannot_read(error).at(path) from None
    if len(found) != rows:
        raise UserError(
            f"holds {len(found):,} records for {rows:,} embeddings", "encode the corpus again"
        ).at(path)
    return found


def _meta(path: str, vectors: Floats) -> dict[str, Any]:
    if not os.path.exists(path):
        return {}
    try:
        with open(path, "rb") as handle:
            meta: dict[str, Any] = orjson.loads(handle.read())
        shape = (meta["count"], meta["dim"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"cannot be read: {error!r}", "encode the corpus again").at(path) from None
    if shape != vectors.shape:
        raise UserError(
            f"says {shape}, the matrix is {vectors.shape}", "encode the corpus again"
        ).at(path)
    return meta


def matrix(rows: Iterable[array[float]]) -> Vectors:
    """Embeddings as one matrix (rows, dimensions)."""
    return np.stack([np.frombuffer(row, np.float32) for row in rows])
