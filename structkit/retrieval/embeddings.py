"""Read embeddings: JSONL records, or a memory-mapped matrix with its ids beside it."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import orjson

from structkit.errors import UserError
from structkit.jsonl import JSON_NAMES, Record, Records, cannot_read

Floats = npt.NDArray[np.floating]
Vectors = npt.NDArray[np.float32]
T = TypeVar("T")

BLOCK = 8192  # rows looked at together


@dataclass(frozen=True)
class Embeddings:
    """The rows of a corpus: which document each one belongs to, and how long the longest is."""

    doc_ids: list[str]
    vectors: Floats  # (rows, dimensions), float32 or float16, in memory or mapped
    largest_norm: float

    @property
    def dimensions(self) -> int:
        return int(self.vectors.shape[1])


def read_embeddings(files: Sequence[str]) -> Embeddings:
    """The embeddings of JSONL files together, or of one `NAME.npy`.

    A record is `{id, embedding}`, and `doc_id` where it is a chunk of a document. Beside
    `NAME.npy` (rows, dimensions) stand `NAME.ids.txt`, one id a line, and, for chunks,
    `NAME.doc_ids.txt`. Repeated ids, differing dimensions, NaN and an empty corpus raise.
    """
    matrices = [name for name in files if name.endswith(".npy")]
    if not matrices:
        return read_records(Records.read(files))
    if len(files) > 1:
        raise UserError("a .npy corpus cannot be read together with other files", "name one file")
    return read_matrix(matrices[0])


def read_records(records: Records) -> Embeddings:
    """The embeddings of records; an error knows file and line."""
    values, doc_ids, dimensions = array("f"), list[str](), 0

    def parse(record: Record) -> tuple[str, array[float]]:
        return _document(record), vector(record, dimensions)

    for _, (doc_id, row) in identified(records, parse):
        dimensions = len(row)
        doc_ids.append(doc_id)
        values.extend(row)
    if not doc_ids:
        raise UserError("the corpus is empty", "embed documents with structkit encode").at(
            records.lines.file
        )
    vectors = np.frombuffer(values, np.float32).reshape(len(doc_ids), dimensions)
    return Embeddings(doc_ids, vectors, largest_norm(vectors))


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
            + ("missing" if "embedding" not in record else f"{_named(value)}, not an array"),
            "make embeddings with structkit encode, or search texts with --method bm25",
        )
    try:
        row = array("f", value)
    except TypeError:
        wrong = next(item for item in value if not isinstance(item, int | float))
        hint = "; NaN is written as null" if wrong is None else ""
        raise UserError(
            f'field "embedding" holds {_named(wrong)}, not only numbers{hint}',
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


TOO_LARGE = "normalize the embeddings"


def _named(value: object) -> str:
    kind = JSON_NAMES.get(type(value).__name__, type(value).__name__)
    return f"{'an' if kind[0] in 'ao' else 'a'} JSON {kind}"


def _document(record: Record) -> str:
    found = record.get("doc_id", record["id"])
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise UserError(f'field "doc_id" is {_named(found)}', "an id is a string")
    return str(found)


def read_matrix(path: str) -> Embeddings:
    """The embeddings of `NAME.npy`, memory-mapped, with the ids in `NAME.ids.txt`."""
    try:
        vectors = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise cannot_read(error).at(path) from None
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or 0 in vectors.shape:
        raise UserError(
            f"holds {vectors.dtype} {vectors.shape}, not floats (documents, dimensions)",
            "write it with structkit encode -o NAME.npy",
        ).at(path)
    if vectors.dtype.itemsize > 4:
        vectors = vectors.astype(np.float32)
    stem = path.removesuffix(".npy")
    ids = _lines(f"{stem}.ids.txt", vectors)
    seen: set[str] = set()
    for number, identifier in enumerate(ids, 1):
        try:
            add_new(identifier, seen)
        except UserError as error:
            raise error.at(f"{stem}.ids.txt", number) from None
    _check_meta(f"{stem}.meta.json", vectors)
    chunks = f"{stem}.doc_ids.txt"
    doc_ids = _lines(chunks, vectors) if os.path.exists(chunks) else ids
    try:
        return Embeddings(doc_ids, vectors, largest_norm(vectors))
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


def _check_meta(path: str, vectors: Floats) -> None:
    if not os.path.exists(path):
        return
    try:
        with open(path, "rb") as handle:
            meta = orjson.loads(handle.read())
        shape = (meta["count"], meta["dim"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"cannot be read: {error!r}", "encode the corpus again").at(path) from None
    if shape != vectors.shape:
        raise UserError(
            f"says {shape}, the matrix is {vectors.shape}", "encode the corpus again"
        ).at(path)


def blocks(vectors: Floats, size: int = BLOCK) -> Iterator[tuple[int, Vectors]]:
    """The rows `size` at a time, as float32, each block with the number of its first row."""
    for first in range(0, len(vectors), size):
        yield first, np.asarray(vectors[first : first + size], np.float32)


def largest_norm(vectors: Floats) -> float:
    """The largest Euclidean norm of a row; a row with NaN, infinity or an overflow raises."""
    largest = 0.0
    for first, block in blocks(vectors):
        with np.errstate(over="ignore"):
            squares = np.einsum("rd,rd->r", block, block)  # (rows,)
        if not np.isfinite(squares).all():
            row = first + int(np.argmin(np.isfinite(squares)))
            raise UserError(
                f"row {row + 1:,} holds NaN, infinity or a number too large for float32", TOO_LARGE
            )
        largest = max(largest, float(squares.max()))
    return float(np.sqrt(largest))


def matrix(rows: Iterable[array[float]]) -> Vectors:
    """Embeddings as one matrix (rows, dimensions)."""
    return np.stack([np.frombuffer(row, np.float32) for row in rows])
