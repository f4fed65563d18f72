"""Read embeddings: JSONL records, or matrix files."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from structkit.embeddings.matrices import ARCHIVE, add_new, read_matrix, read_parquet
from structkit.embeddings.matrices import Embeddings as Embeddings
from structkit.embeddings.vectors import (
    NOT_FINITE,
    TOO_LARGE,
    Matrix,
    Vectors,
    largest_norm,
)
from structkit.errors import UserError, flag, program
from structkit.records.jsonl import Record, Records, json_kind

T = TypeVar("T")
MATRICES = (".npy", ".parquet")


def read_embeddings(
    files: Sequence[str], *, normalize: bool = False, fields: bool = False, looked: bool = True
) -> Embeddings:
    """The embeddings of JSONL files together, or of matrices (`NAME.npy`, `NAME.parquet`) together.

    A record is `{id, embedding}`, with `doc_id` if it is a chunk of a document. Beside `NAME.npy`
    (rows, dimensions) are `NAME.ids.txt`, one id per line, for chunks `NAME.doc_ids.txt`, and for
    kept fields `NAME.fields.jsonl`. `normalize` scales every row to length 1, `fields` reads the
    other fields of rows. Repeated ids, differing dimensions or models, NaN and an empty corpus
    raise. Unless `looked`, rows of .npy files are not read: their NaN and largest norm are unknown.
    """
    for name in files:
        if name.endswith(".npz"):
            raise UserError("is an archive of arrays", ARCHIVE).at(name)
    matrices = [name for name in files if name.endswith(MATRICES)]
    if not matrices:
        return read_records(Records.read(files), normalize=normalize, fields=fields)
    if len(matrices) < len(files):
        other = next(name for name in files if name not in matrices)
        problem = "is not a matrix (.npy, .parquet), as other files of the corpus are"
        raise UserError(problem, "name files of one kind").at(other)
    parts = [
        read_matrix(name, fields=fields, looked=looked)
        if name.endswith(".npy")
        else read_parquet(name, fields=fields)
        for name in files
    ]
    return together(parts, files, normalize)


def together(parts: list[Embeddings], files: Sequence[str], normalize: bool) -> Embeddings:
    """Several matrices as one corpus; each id is in one of them only."""
    first, seen = parts[0], set[str]()
    for name, part in zip(files, parts, strict=True):
        if part.dimensions != first.dimensions:
            raise UserError(
                f"has {part.dimensions} dimensions, but {files[0]} has {first.dimensions}",
                "encode all files with one model",
            ).at(name)
        same_model(part.model, first.model, name, files[0])
        if len(parts) > 1:
            try:
                for identifier in part.ids:
                    add_new(identifier, seen)
            except UserError as error:
                raise error.at(name) from None
    vectors = Matrix(
        [matrix for part in parts for matrix in part.vectors.parts], normalize=normalize
    )
    return Embeddings(
        [doc_id for part in parts for doc_id in part.doc_ids],
        vectors,
        1.0 if normalize else max(part.largest_norm for part in parts),
        [identifier for part in parts for identifier in part.ids],
        [record for part in parts for record in part.fields],
        first.model,
    )


def same_model(model: str | None, other: str | None, file: str, other_file: str) -> None:
    """Raise if two files are known to be of different models."""
    if model and other and model != other:
        raise UserError(
            f"was encoded with another model than {other_file}", "encode both with one model"
        ).at(file)


def read_records(records: Records, *, normalize: bool = False, fields: bool = False) -> Embeddings:
    """The embeddings of records; an error has file and line."""
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
        raise UserError("the corpus is empty", f"embed documents with {program('encode')}").at(
            records.lines.file
        )
    matrix = np.frombuffer(values, np.float32).reshape(len(doc_ids), dimensions)
    vectors = Matrix([matrix], normalize=normalize)
    return Embeddings(doc_ids, vectors, largest_norm(vectors), ids, kept)


NUMBERS = frozenset((float, int))
KNOWN = frozenset(("id", "doc_id", "embedding"))


def identified(records: Records, parse: Callable[[Record], T]) -> Iterator[tuple[str, T]]:
    """The id of each record and what `parse` makes of it; an error has file and line.

    A repeated id raises.
    """
    seen: set[str] = set()
    try:
        for record in records:
            add_new(record["id"], seen)
            yield record["id"], parse(record)
    except UserError as error:
        raise records.place(error) from None


def vector(record: Record, dimensions: int = 0) -> array[float]:
    """The embedding of a record as float32; `dimensions`, where not 0, is what it must have."""
    value = record.get("embedding")
    if type(value) is not list:
        raise UserError(
            'field "embedding" is '
            + ("missing" if "embedding" not in record else f"{json_kind(value)}, not an array"),
            f"make embeddings with {program('encode')}, or search texts with "
            f"{flag('method', 'bm25')}",
        )
    if not NUMBERS.issuperset(map(type, value)):
        wrong = next(item for item in value if type(item) not in NUMBERS)
        hint = "; NaN is written as null" if wrong is None else ""
        raise UserError(
            f'field "embedding" holds {json_kind(wrong)}, not only numbers{hint}', NOT_FINITE
        )
    large = UserError('field "embedding" holds numbers too large for float32', TOO_LARGE)
    try:
        row = array("f", value)
    except OverflowError:  # an integer that is beyond float64 too
        raise large from None
    if len(row) != (dimensions or len(row)) or not row:
        raise UserError(
            f'field "embedding" has {len(row)} dimensions, not {dimensions or "1 or more"}',
            "encode queries and documents with one model",
        )
    values = np.frombuffer(row, np.float32)
    with np.errstate(over="ignore"):
        if not np.isfinite(values @ values):
            raise large
    return row


def _document(record: Record) -> str:
    doc_id = record.get("doc_id", record["id"])
    if isinstance(doc_id, bool) or not isinstance(doc_id, str | int):
        raise UserError(f'field "doc_id" is {json_kind(doc_id)}', "an id is a string")
    return str(doc_id)


def matrix(rows: Iterable[array[float]]) -> Vectors:
    """Embeddings as one matrix (rows, dimensions)."""
    return np.stack([np.frombuffer(row, np.float32) for row in rows])
