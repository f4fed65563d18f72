"""Rows of float vectors: in memory, mapped, several files one after the other, normalized."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from structkit.errors import UserError

Floats = NDArray[np.floating]
Vectors = NDArray[np.float32]
Numbers = NDArray[np.int64]

BLOCK = 8192  # rows read together
TOO_LARGE = "normalize the embeddings"
NOT_FINITE = "encode it again, with a model whose weights are finite"


class CodedRows(Protocol):
    """Rows in another form than floats, of quantized.py: floats (n, dimensions) when asked for."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, dimensions."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Vectors: ...

    def taken(self, rows: Numbers) -> CodedRows:
        """Some of the rows, in the same form."""
        ...


class Matrix:
    """The rows of several matrices one after the other, read as float32 when asked for.

    `rows[slice]` and `rows[numbers]` are (n, dimensions). With `normalize` every row has length 1
    (a row of zeros stays). Matrices may be memory-mapped: only what is asked for is read.
    """

    def __init__(self, parts: Sequence[Floats | CodedRows], *, normalize: bool = False) -> None:
        self.parts = list(parts)
        self.normalize = normalize
        self.starts = np.cumsum([0, *map(len, self.parts)])  # (parts + 1,)
        self.shape = (int(self.starts[-1]), int(self.parts[0].shape[1]))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | Numbers) -> Vectors:
        vectors = self._slice(rows) if isinstance(rows, slice) else self._numbers(rows)
        return unit(vectors) if self.normalize else vectors

    def _slice(self, rows: slice) -> Vectors:
        first, last, step = rows.indices(len(self))
        if step != 1:
            raise IndexError("steps other than 1 are not needed here")
        pieces = [
            part[max(0, first - start) : max(0, last - start)]
            for start, part in zip(self.starts, self.parts, strict=False)
            if start < last and start + len(part) > first
        ]
        if len(pieces) == 1:
            return np.asarray(pieces[0], np.float32)
        return np.concatenate([*pieces, np.empty((0, self.shape[1]))], dtype=np.float32)

    def _numbers(self, rows: Numbers) -> Vectors:
        if len(self.parts) == 1:
            return np.asarray(self.parts[0][rows], np.float32)
        vectors = np.empty((len(rows), self.shape[1]), np.float32)
        part_of = np.searchsorted(self.starts, rows, side="right") - 1  # (rows,)
        for number, part in enumerate(self.parts):
            here = part_of == number
            vectors[here] = part[rows[here] - self.starts[number]]
        return vectors

    def taken(self, rows: Numbers) -> Matrix:
        """Some rows as a matrix in memory; nothing is copied if all are taken."""
        steps = np.diff(rows)
        if len(rows) == len(self) and (steps == 1).all():
            return self
        if (steps > 0).all():  # each part in its own form, which may be smaller than floats
            cuts = np.searchsorted(rows, self.starts).tolist()
            ranges = zip(self.parts, self.starts, cuts, cuts[1:], strict=False)
            kept = [_taken(part, rows[low:high] - start) for part, start, low, high in ranges]
            return Matrix(kept, normalize=self.normalize)
        return Matrix([self._numbers(rows)], normalize=self.normalize)


def _taken(part: Floats | CodedRows, rows: Numbers) -> Floats | CodedRows:
    return part[rows] if isinstance(part, np.ndarray) else part.taken(rows)


def unit(vectors: Any) -> Vectors:
    """The rows scaled to length 1; a row of zeros stays.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    exact = np.asarray(vectors, np.float64)
    lengths = np.sqrt(np.einsum("rd,rd->r", exact, exact))[:, None]
    result: Vectors = (exact / np.where(lengths == 0, 1, lengths)).astype(np.float32)
    return result


def blocks(rows: Matrix, size: int = BLOCK) -> Iterator[tuple[int, Vectors]]:
    """The rows `size` at a time, each block with the number of its first row."""
    for first in range(0, len(rows), size):
        yield first, rows[first : first + size]


def largest_norm(rows: Matrix) -> float:
    """The largest Euclidean norm of a row; a row with NaN, infinity or an overflow raises."""
    largest = 0.0
    for first, block in blocks(rows):
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("rd,rd->r", block, block)  # (rows,)
        if not np.isfinite(squares).all():
            row = first + int(np.argmin(np.isfinite(squares)))
            if np.isfinite(block[row - first]).all():
                raise UserError(f"row {row + 1:,} holds numbers too large for float32", TOO_LARGE)
            raise UserError(
                f"row {row + 1:,} holds NaN, infinity or a number beyond float32", NOT_FINITE
            )
        largest = max(largest, float(squares.max()))
    return float(np.sqrt(largest))
