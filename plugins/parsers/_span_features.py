"""The features of a word for a span parser: itself, its last letters and its shape, as numbers.

In a clone, `python -m experiments.span_parser` trains one.

Tests: tests/structure/trees/span_parser/test_span_parser.py.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Self

import numpy as np
import orjson
from numpy.typing import NDArray

from structkit.learning.folders import damage_error

VOCABULARY_FILE = "vocabulary.json"
FEATURE_NAMES = ("word", "suffix_2", "suffix_3", "shape")
# the first rows of every table: the unknown, and the two ends of a text
SPECIAL_NAMES = ("<unk>", "<start>", "<end>")
UNKNOWN_ROW = 0
START_ROW = 1
END_ROW = 2
DIGIT_PATTERN = re.compile(r"\d")
REPEATED_SIGN = re.compile(r"(.)\1+", re.DOTALL)
TREEBANK_SIGNS = str.maketrans({"“": "``", "”": "''", "‘": "`", "’": "'", "–": "--", "—": "--"})
MAX_SHAPE_CHARACTERS = 6


@lru_cache(100_000)
def features(word: str) -> tuple[str, str, str, str]:
    """Return the lower-cased word with digits as 0, its last 2 and 3 letters, its shape.

    >>> features("Nottingham-1888")
    ('nottingham-0000', '00', '000', 'Xx-d')
    """
    lower = DIGIT_PATTERN.sub("0", word.lower().translate(TREEBANK_SIGNS))
    return lower, lower[-2:], lower[-3:], shape(word)


def shape(word: str) -> str:
    """Return capitals, small letters and digits as X, x and d, each run once.

    >>> shape("McDonald's"), shape("3,000.5"), shape("NATO"), shape("A")
    ("XxXx'x", 'd,d.d', 'XX', 'X')
    """
    kinds = "".join(map(_kind, word[:40]))
    capitals = "X" if len(word) > 1 and word.isupper() and word.isalpha() else ""
    return (capitals + REPEATED_SIGN.sub(r"\1", kinds))[:MAX_SHAPE_CHARACTERS]


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
        self._rows = [
            {name: row for row, name in enumerate(tables[kind])} for kind in FEATURE_NAMES
        ]

    def sizes(self) -> list[int]:
        """Return the rows of each table, in the order of FEATURE_NAMES."""
        return [len(self.tables[kind]) for kind in FEATURE_NAMES]

    def numbers(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the rows (4, words + 2) of a text and its two ends."""
        named = zip(*map(features, words), strict=True)
        rows = [
            [START_ROW, *(known.get(name, UNKNOWN_ROW) for name in names), END_ROW]
            for known, names in zip(self._rows, named, strict=True)
        ]
        return np.array(rows, np.int32)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Load the tables in a folder. Errors: `UserError` if the file is missing or damaged."""
        try:
            names = orjson.loads((folder / VOCABULARY_FILE).read_bytes())
            tables = {kind: [*SPECIAL_NAMES, *names[kind]] for kind in FEATURE_NAMES}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damage_error(f"cannot be read: {error}", folder / VOCABULARY_FILE) from None
        return cls(tables)
