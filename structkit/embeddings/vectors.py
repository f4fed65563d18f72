"""Rows of vectors: floats, or codes of 8 bits or 1 bit; in memory or mapped, from several files.

Codes are read as float32 on use. `int8`: a row's numbers are codes from -127 to 127 times the row's
own scale, so that a row's bytes depend on it alone: not on other rows, shards or a sample. Scales
have 16 bits of precision, codes 7: their products are exact, and rows that are read and written
again do not change. `binary`: the signs, 8 to a byte (most significant bit first, 1 for numbers
above 0); a row is read as ±1/√dimensions, a vector of length 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from structkit.errors import UserError
from structkit.records.jsonl import Record

Floats = NDArray[np.floating]
Vectors = NDArray[np.float32]
IntArray = NDArray[np.int64]

ROWS_PER_BLOCK = 8192  # rows read together
# how far from 1 the length of a row may be that codes or 16 bits have rounded
UNIT_TOLERANCE = 1e-2
TOO_LARGE = "normalize the embeddings"
NOT_FINITE = "encode it again, with a model whose weights are finite"
CODE_TYPES = {"int8": "|i1", "binary": "|u1"}  # as NumPy writes the types of codes
QUANTIZED_TYPES = {"fp16": "<f2", **CODE_TYPES}
MAX_INT8_CODE = 127
MIN_FLOAT16_OVERFLOW = 65520  # the lowest number that 16 bits round to infinity
SCALE_STEPS = 2**16
# rows without a larger number are zeros; their squares are 0 in float32 too
MIN_INT8_NUMBER = 1e-30


@dataclass(frozen=True)
class EmbeddingRow:
    """Id of an embedding, with its document's id for a part, and its kept fields.

    `hash` is of its record's source.
    """

    id: str
    doc_id: str | None = None
    fields: Record = field(default_factory=dict)
    hash: str = ""

    @property
    def document(self) -> str:
        """Id of the document: its own, or for a part the document's."""
        return self.id if self.doc_id is None else self.doc_id


class TextEncoding(Protocol):
    """A model that reads records of texts: `Encoding` of learning/encoding, which needs a model.

    If it `is_static`, forked processes may share the work, since it has no threads. `dimensions` is
    how many numbers of an embedding are kept, if not all.
    """

    is_static: bool
    dimensions: int | None

    def embedded(
        self, records: Iterable[Record]
    ) -> Iterator[tuple[Sequence[EmbeddingRow], Vectors]]:
        """Yield some rows at a time, and their embeddings."""
        ...

    def of_bags(self, texts: Sequence[str], bags: Any) -> Vectors:
        """Return the embeddings of documents from their `Bags`, if it `is_static`."""
        ...

    def sizes(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        ...

    def meta(self) -> Record:
        """Return the identity of the model, and its settings."""
        ...


class Int8Rows:
    """Codes (rows, dimensions) and scales (rows,), which may be mapped, as rows of floats."""

    def __init__(self, codes: NDArray[np.int8], scales: Vectors) -> None:
        self.codes, self.scales = codes, scales
        self.shape = codes.shape

    @classmethod
    def merge(cls, parts: Sequence[tuple[Int8Rows, IntArray]]) -> Int8Rows:
        """Return one of several, each given with the new numbers of its rows, or -1."""
        codes = scatter_rows([(rows.codes, numbers) for rows, numbers in parts])
        return cls(codes, scatter_rows([(rows.scales, numbers) for rows, numbers in parts]))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice | IntArray) -> Vectors:
        floats = self.codes[rows].astype(np.float32)
        floats *= self.scales[rows, None]
        return floats

    def take(self, rows: slice | IntArray) -> Int8Rows:
        """Return some of the rows, in memory."""
        return Int8Rows(self.codes[rows], self.scales[rows])


class BinaryRows:
    """Signs of dimensions, packed in (rows, bytes), which may be mapped, as floats."""

    def __init__(self, bits: NDArray[np.uint8], dimensions: int) -> None:
        self.bits = bits
        self.shape = (len(bits), dimensions)

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, rows: slice | IntArray) -> Vectors:
        dimensions = self.shape[1]
        signs = np.unpackbits(self.bits[rows], axis=1, count=dimensions).astype(np.float32)
        length = np.float32(dimensions**-0.5)
        signs *= 2 * length
        signs -= length
        return signs

    def take(self, rows: IntArray) -> BinaryRows:
        """Return some of the rows, in memory."""
        return BinaryRows(self.bits[rows], self.shape[1])


class Matrix:
    """Rows of several matrices in sequence, read as float32 on use.

    `rows[slice]` and `rows[numbers]` are (n, dimensions). Matrices may be memory-mapped: only the
    requested rows are read.
    """

    def __init__(self, parts: Sequence[Floats | Int8Rows | BinaryRows]) -> None:
        self.parts = list(parts)
        self.starts = np.cumsum([0, *map(len, self.parts)])  # (parts + 1,)
        self.shape: tuple[int, int] = (int(self.starts[-1]), int(self.parts[0].shape[1]))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | IntArray) -> Vectors:
        if not isinstance(rows, slice):
            return self._numbers(rows)
        first, last, step = rows.indices(len(self))
        assert step == 1
        pieces = [
            part[max(0, first - start) : max(0, last - start)]
            for start, part in zip(self.starts, self.parts, strict=False)
            if start < last and start + len(part) > first
        ]
        if len(pieces) == 1:
            return np.asarray(pieces[0], np.float32)
        return np.concatenate([*pieces, np.empty((0, self.shape[1]))], dtype=np.float32)

    def _numbers(self, rows: IntArray) -> Vectors:
        if len(self.parts) == 1:
            return np.asarray(self.parts[0][rows], np.float32)
        vectors = np.empty((len(rows), self.shape[1]), np.float32)
        part_of = np.searchsorted(self.starts, rows, side="right") - 1  # (rows,)
        for number, part in enumerate(self.parts):
            in_part = part_of == number
            vectors[in_part] = part[rows[in_part] - self.starts[number]]
        return vectors

    def take(self, rows: IntArray) -> Matrix:
        """Return some rows as a matrix in memory; nothing is copied if all are taken."""
        steps = np.diff(rows)
        if len(rows) == len(self) and (steps == 1).all():
            return self
        if (steps > 0).all():  # each part in its own form, which may be smaller than floats
            ends = np.searchsorted(rows, self.starts).tolist()
            cuts = zip(self.starts, ends, ends[1:], strict=False)
            part_rows = [rows[low:high] - start for start, low, high in cuts]
            kept = [
                part[rows_of_part] if isinstance(part, np.ndarray) else part.take(rows_of_part)
                for part, rows_of_part in zip(self.parts, part_rows, strict=True)
            ]
            return Matrix(kept)
        return Matrix([self._numbers(rows)])


class UnitRows:
    """Rows, which may be mapped, scaled to length 1 when asked for; a row of zeros stays."""

    def __init__(self, rows: Matrix) -> None:
        self.rows, self.lengths = rows, row_norms(rows)

    def __getitem__(self, rows: slice | IntArray) -> Vectors:
        lengths = self.lengths[rows, None]
        return np.divide(self.rows[rows], np.where(lengths == 0, 1, lengths), dtype=np.float32)


def normalize_rows(vectors: Any) -> Vectors:
    """Return the rows scaled to length 1; a row of zeros stays.

    >>> normalize_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    exact = np.asarray(vectors, np.float64)
    lengths = np.sqrt(np.einsum("rd,rd->r", exact, exact))[:, None]
    result: Vectors = (exact / np.where(lengths == 0, 1, lengths)).astype(np.float32)
    return result


def scatter_rows(parts: Sequence[tuple[NDArray[Any], IntArray]]) -> NDArray[Any]:
    """Return the rows of several arrays at their given numbers, which are all from 0; -1 has none.

    >>> scatter_rows([(np.array([5, 6, 7]), np.array([2, -1, 0])), (np.array([8]), np.array([1]))])
    array([7, 8, 5])
    """
    parts = [part for part in parts if len(part[0])] or parts[:1]
    has_number = [numbers >= 0 for _, numbers in parts]
    size = sum(map(np.count_nonzero, has_number))
    rows, numbers = parts[0]
    if size == len(rows) and np.array_equal(numbers, np.arange(size)):
        return rows  # which may be mapped
    whole = np.empty((size, *rows.shape[1:]), np.result_type(*(rows for rows, _ in parts)))
    for (rows, numbers), kept in zip(parts, has_number, strict=True):
        whole[numbers[kept]] = rows[kept]
    return whole


def top_k(scores: Floats, place: IntArray, k: int) -> IntArray:
    """Return the numbers of the k highest scores, best first; equal scores go by place.

    >>> top_k(np.array([1, 2, 1, 1], np.float32), np.array([3, 2, 1, 0]), 2).tolist()
    [1, 3]
    """
    candidates = np.arange(len(scores))
    if k < len(scores):
        kth = len(scores) - k
        threshold = np.partition(scores, kth)[kth]
        candidates = np.flatnonzero(scores >= threshold)  # all that tie at the boundary
    return candidates[np.lexsort((place[candidates], -scores[candidates]))][:k]


def row_norms(rows: Matrix) -> Vectors:
    """Return the Euclidean norm of each row, (rows,)."""
    norms = [np.empty(0, np.float32)]
    for _, block in row_blocks(rows):
        squares = np.einsum("rd,rd->r", block, block, dtype=np.float64)
        norms.append(np.sqrt(squares).astype(np.float32))
    return np.concatenate(norms)


def are_unit(rows: Matrix, within: float) -> bool:
    """Return whether all rows have length 1, up to `within`."""
    return bool((np.abs(row_norms(rows) - 1) <= within).all())


def row_blocks(rows: Matrix, size: int = ROWS_PER_BLOCK) -> Iterator[tuple[int, Vectors]]:
    """Yield `size` rows at a time, each block with the number of its first row."""
    for first in range(0, len(rows), size):
        yield first, rows[first : first + size]


def largest_norm(rows: Matrix, path: str = "") -> float:
    """Return the largest Euclidean norm of a row. Errors: NaN, infinity or an overflow."""
    largest = 0.0
    for first, block in row_blocks(rows):
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("rd,rd->r", block, block)  # (rows,)
        if not np.isfinite(squares).all():
            row = first + int(np.argmin(np.isfinite(squares))) + 1
            raise UserError(
                f"row {row:,} holds NaN, infinity or numbers too large for float32", NOT_FINITE
            ).at(path)
        largest = max(largest, float(squares.max()))
    return float(np.sqrt(largest))


def column_count(dimensions: int, kind: str | None) -> int:
    """Return the number of columns of an array with these dimensions.

    >>> column_count(384, "binary"), column_count(10, "binary"), column_count(384, "int8")
    (48, 2, 384)
    """
    return -(-dimensions // 8) if kind == "binary" else dimensions


def quantize(vectors: Vectors, kind: str) -> tuple[NDArray[Any], Vectors | None]:
    """Return the numbers of finite rows (rows, dimensions), and for `int8` their scales (rows,).

    Errors: numbers that 16 bits cannot hold.

    >>> codes, scales = quantize(np.array([[0.5, -1.0, 0.0], [0, 0, 0]], np.float32), "int8")
    >>> codes.tolist()
    [[63, -127, 0], [0, 0, 0]]
    >>> quantize(np.array([[0.5, -1.0, 0.0, 2.0]], np.float32), "binary")[0].tolist()
    [[144]]
    """
    if kind == "binary":
        return pack_signs(vectors), None
    if kind == "fp16":
        if np.abs(vectors).max(initial=0) >= MIN_FLOAT16_OVERFLOW:
            raise UserError("an embedding holds numbers too large for 16 bits", TOO_LARGE)
        return vectors.astype(QUANTIZED_TYPES[kind]), None
    exact = np.asarray(vectors, np.float64)
    largest = np.abs(exact).max(axis=1)  # (rows,)
    # rounded up: no code is beyond 127
    mantissa, exponent = np.frexp(np.where(largest < MIN_INT8_NUMBER, 0.0, largest) / MAX_INT8_CODE)
    scales = np.ldexp(np.ceil(mantissa * SCALE_STEPS) / SCALE_STEPS, exponent)
    codes = np.rint(exact / np.where(scales == 0, np.inf, scales)[:, None])
    return codes.astype(np.int8), scales.astype(np.float32)


def pack_signs(vectors: Vectors) -> NDArray[np.uint8]:
    """Return the signs of rows, (rows, dimensions / 8 rounded up); the rest of a byte is 0."""
    return np.packbits(vectors > 0, axis=1)
