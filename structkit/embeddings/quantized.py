"""Rows of 8-bit integers or of single bits in place of floats, read as float32 when asked for.

`int8`: a row's numbers are codes from -127 to 127 times the row's own scale, so that a row's bytes
depend on it alone: not on other rows, shards or a sample. Scales have 16 bits of precision, codes
7: their products are exact, and rows that are read and written again stay as they are.
`binary`: the signs, 8 to a byte (most significant bit first, 1 for numbers above 0); a row is read
as ±1/√dimensions, a vector of length 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structkit.embeddings.vectors import Numbers, Vectors

KINDS = {"int8": "|i1", "binary": "|u1"}  # as NumPy writes the types of codes
FLOATS = "<f4"
LARGEST = 127
PRECISION = 2**16
TINY = 1e-30  # rows without a larger number are zeros; their squares are 0 in float32 too
SCALES = ".scales.f32"  # beside NAME.npy: little-endian float32, one for each row


class Int8Rows:
    """Codes (rows, dimensions) and scales (rows,), which may be mapped, as rows of floats."""

    def __init__(self, codes: NDArray[np.int8], scales: Vectors) -> None:
        self.codes, self.scales = codes, scales
        self.shape = codes.shape

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice | Numbers) -> Vectors:
        floats = self.codes[rows].astype(np.float32)
        floats *= self.scales[rows, None]
        return floats

    def taken(self, rows: Numbers) -> Int8Rows:
        """Some of the rows, in memory."""
        return Int8Rows(self.codes[rows], self.scales[rows])


class BinaryRows:
    """Signs of so many dimensions, packed in (rows, bytes), which may be mapped, as floats."""

    def __init__(self, bits: NDArray[np.uint8], dimensions: int) -> None:
        self.bits = bits
        self.shape = (len(bits), dimensions)

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, rows: slice | Numbers) -> Vectors:
        dimensions = self.shape[1]
        signs = np.unpackbits(self.bits[rows], axis=1, count=dimensions).astype(np.float32)
        length = np.float32(dimensions**-0.5)
        signs *= 2 * length
        signs -= length
        return signs

    def taken(self, rows: Numbers) -> BinaryRows:
        """Some of the rows, in memory."""
        return BinaryRows(self.bits[rows], self.shape[1])


def columns(dimensions: int, kind: str | None) -> int:
    """How many columns the array of rows of so many dimensions has.

    >>> columns(384, "binary"), columns(10, "binary"), columns(384, "int8")
    (48, 2, 384)
    """
    return -(-dimensions // 8) if kind == "binary" else dimensions


def quantized(vectors: Vectors, kind: str) -> tuple[NDArray[Any], Vectors | None]:
    """The codes of finite rows (rows, dimensions), and for `int8` their scales (rows,).

    >>> codes, scales = quantized(np.array([[0.5, -1.0, 0.0], [0, 0, 0]], np.float32), "int8")
    >>> codes.tolist()
    [[63, -127, 0], [0, 0, 0]]
    >>> quantized(np.array([[0.5, -1.0, 0.0, 2.0]], np.float32), "binary")[0].tolist()
    [[144]]
    """
    if kind == "binary":
        return packed(vectors), None
    exact = np.asarray(vectors, np.float64)
    largest = np.abs(exact).max(axis=1)  # (rows,)
    # rounded up: no code is beyond 127
    mantissa, exponent = np.frexp(np.where(largest < TINY, 0.0, largest) / LARGEST)
    scales = np.ldexp(np.ceil(mantissa * PRECISION) / PRECISION, exponent)
    codes = np.rint(exact / np.where(scales == 0, np.inf, scales)[:, None])
    return codes.astype(np.int8), scales.astype(np.float32)


def packed(vectors: Vectors) -> NDArray[np.uint8]:
    """The signs of rows, (rows, dimensions / 8 rounded up); what is left of a byte is 0."""
    return np.packbits(vectors > 0, axis=1)
