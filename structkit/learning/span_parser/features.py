"""The features of a word for a span parser: itself, its last letters and its shape, as numbers.

In a clone, `python -m experiments.span_parser` trains one.

Tests: tests/learning/span_parser/test_span_parser.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Self

import numpy as np
import orjson
from numpy.typing import NDArray

from structkit.learning.folders import damage_error

FILE = "vocabulary.json"
KINDS = ("word", "suffix_2", "suffix_3", "shape")
# the first rows of every table: the unknown, and the two ends of a text
SPECIAL = ("<unk>", "<start>", "<end>")
UNKNOWN, START, END = range(len(SPECIAL))
DIGIT = re.compile(r"\d")
RUN = re.compile(r"(.)\1+", re.DOTALL)
QUOTES = str.maketrans({"“": "``", "”": "''", "‘": "`", "’": "'", "–": "--", "—": "--"})
LONGEST_SHAPE = 6


@lru_cache(100_000)
def features(word: str) -> tuple[str, str, str, str]:
    """Return the lower-cased word with digits as 0, its last 2 and 3 letters, its shape.

    >>> features("Nottingham-1888")
    ('nottingham-0000', '00', '000', 'Xx-d')
    """
    lower = DIGIT.sub("0", word.lower().translate(QUOTES))
    return lower, lower[-2:], lower[-3:], shape(word)


def shape(word: str) -> str:
    """Return capitals, small letters and digits as X, x and d, each run once.

    >>> shape("McDonald's"), shape("3,000.5"), shape("NATO"), shape("A")
    ("XxXx'x", 'd,d.d', 'XX', 'X')
    """
    kinds = "".join(map(_kind, word[:40]))
    capitals = "X" if len(word) > 1 and word.isupper() and word.isalpha() else ""
    return (capitals + RUN.sub(r"\1", kinds))[:LONGEST_SHAPE]


def _kind(sign: str) -> str:
    if sign.isdigit():
        return "d"
    if sign.isalpha():
        return "X" if sign.isupper() else "x"
    return sign


class Features:
    """The rows of the four tables."""

    def __init__(self, tables: dict[str, list[str]]) -> None:
        self.tables = tables
        self._rows = [{name: row for row, name in enumerate(tables[kind])} for kind in KINDS]

    def sizes(self) -> list[int]:
        """Return the rows of each table, in the order of KINDS."""
        return [len(self.tables[kind]) for kind in KINDS]

    def numbers(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the rows (4, words + 2) of a text and its two ends."""
        named = zip(*map(features, words), strict=True)
        rows = [
            [START, *(known.get(name, UNKNOWN) for name in names), END]
            for known, names in zip(self._rows, named, strict=True)
        ]
        return np.array(rows, np.int32)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Load the tables in a folder. Errors: `UserError` if the file is missing or damaged."""
        try:
            names = orjson.loads((folder / FILE).read_bytes())
            tables = {kind: [*SPECIAL, *names[kind]] for kind in KINDS}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damage_error(f"cannot be read: {error}", folder / FILE) from None
        return cls(tables)
