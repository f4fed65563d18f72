"""The features of a word for a span parser: itself, its last letters and its shape, as numbers.

Tests: tests/learning/span_parser/test_span_parser.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self

import numpy as np
import orjson
from numpy.typing import NDArray

from structkit.learning.folders import damaged

FILE = "vocabulary.json"
KINDS = ("word", "suffix_2", "suffix_3", "shape")
# the first rows of every table: the unknown, and the two ends of a text
SPECIAL = ("<unk>", "<start>", "<end>")
UNKNOWN, START, END = range(len(SPECIAL))
MAXIMUM = {"word": 11_000, "suffix_2": 600, "suffix_3": 3000, "shape": 100}  # rows of a table
MINIMUM = 2  # rarer features are unknown
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


@dataclass(frozen=True)
class Sizes:
    """Widths of a word's parts, the LSTM and the span layer, and dropout before all layers."""

    word: int = 72
    suffix: int = 28
    shape: int = 16
    hidden: int = 128
    layers: int = 2
    span: int = 200
    dropout: float = 0.2


class Features:
    """The rows of the four tables.

    `counts` is how often each training word occurred, for the dropout of rare ones; a loaded model
    has none.
    """

    def __init__(self, tables: dict[str, list[str]], counts: dict[str, int]) -> None:
        self.tables, self.counts = tables, counts
        self._rows = [{name: row for row, name in enumerate(tables[kind])} for kind in KINDS]

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], minimum: int = MINIMUM) -> Self:
        """Return the tables of features with `minimum` occurrences, by frequency."""
        words: Counter[str] = Counter()
        for sentence in sentences:
            words.update(sentence)
        counted = {kind: Counter[str]() for kind in KINDS}
        for word, count in words.items():
            for kind, name in zip(KINDS, features(word), strict=True):
                counted[kind][name] += count
        tables = {}
        for kind, counts in counted.items():
            kept = [name for name, count in counts.items() if count >= minimum]
            kept.sort(key=lambda name, counts=counts: (-counts[name], name))  # type: ignore[misc]
            tables[kind] = [*SPECIAL, *kept[: MAXIMUM[kind]]]
        return cls(tables, {name: counted["word"][name] for name in tables["word"][len(SPECIAL) :]})

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

    def rarity(self, strength: float) -> NDArray[np.float32]:
        """Return the probability of hiding each row of the word table in training.

        A word that occurs c times is hidden strength / (strength + c) of the time, so that the
        unknown word is trained on rare words.
        """
        counts = [self.counts.get(name, 0) for name in self.tables["word"]]
        rare = strength / (strength + np.maximum(1, np.array(counts, np.float32)))
        rare[: len(SPECIAL)] = 0
        return rare.astype(np.float32)

    def save(self, folder: Path) -> None:
        """Write the tables without their special rows."""
        tables = {kind: names[len(SPECIAL) :] for kind, names in self.tables.items()}
        (folder / FILE).write_bytes(orjson.dumps(tables, option=orjson.OPT_APPEND_NEWLINE))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Load what `save` wrote. Errors: `UserError` if the file is missing or damaged."""
        try:
            names = orjson.loads((folder / FILE).read_bytes())
            tables = {kind: [*SPECIAL, *names[kind]] for kind in KINDS}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged(f"cannot be read: {error}", folder / FILE) from None
        return cls(tables, {})
