"""Texts as bags of pieces: what is needed of a piece is computed once, however often it occurs.

Tests: tests/structure/test_bags.py.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

# of UTF-8: no byte of a character beyond ASCII changes, and no end of a line
KEPT_CHARACTERS = {ord("\n"), ord("_"), *range(128, 256)}
SPACED = bytes(i if i in KEPT_CHARACTERS or chr(i).isalnum() else ord(" ") for i in range(256))
NO_SIGNS = bytes(
    i for i in range(256) if i != ord("\n") and (SPACED[i] == i or not chr(i).isprintable())
)
PASS = "surrogatepass"  # halves of surrogate pairs


def pieces(texts: Iterable[str]) -> list[list[str]]:
    """Return the pieces of each text: runs of letters, digits, `_` and all beyond ASCII, and signs.

    This is faster than a regular expression.

    >>> pieces(["max_size = maxSize(“größe”);", "Tee"])
    [['max_size', 'maxSize', '“größe”', '=', '(', ')', ';'], ['Tee']]
    """
    data = "".join(text.replace("\n", " ") + "\n" for text in texts).encode("utf-8", PASS)
    runs = data.translate(SPACED).decode("utf-8", PASS).split("\n")
    signs = data.translate(None, NO_SIGNS).decode("ascii").split("\n")
    return [[*run.split(), *sign] for run, sign in zip(runs[:-1], signs, strict=False)]


class Bags:
    """The pieces of texts, with their counts in each; a piece has a number.

    >>> bags = Bags.of(["tea, green tea"])
    >>> [*bags.number], bags.counts.tolist()
    (['tea', 'green', ','], [2, 1, 1])
    """

    def __init__(self) -> None:
        self.number = defaultdict[str, int](int)
        self.number.default_factory = self.number.__len__
        self.size = 0  # texts
        self.texts, self.pieces, self.counts = array("i"), array("i"), array("i")  # (pairs,)

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Return the bags of texts."""
        bags = cls()
        bags.add(texts)
        return bags

    def add(self, texts: Iterable[str], *, to_same_texts: bool = False) -> None:
        """Count the pieces of more texts, or more pieces of the same texts."""
        text_pieces = pieces(texts)
        first = 0 if to_same_texts else self.size
        for number, some in enumerate(text_pieces, first):
            counted = Counter(some)
            self.texts.extend([number] * len(counted))
            self.pieces.extend(map(self.number.__getitem__, counted))
            self.counts.extend(counted.values())
        self.size = first + len(text_pieces)

    @property
    def columns(self) -> tuple[array[int], ...]:
        """The text, piece and count of each pair."""
        return self.texts, self.pieces, self.counts

    def spread(self, parts: Iterable[Sequence[int]]) -> tuple[NDArray[Any], ...]:
        """Return the text, part and count of each part of the pieces, whose parts are given."""
        of_pieces = [*parts]
        sizes = np.fromiter(map(len, of_pieces), np.int64, len(of_pieces))
        flat = np.fromiter(chain.from_iterable(of_pieces), np.int64)
        texts, numbers, counts = (np.array(each, np.int32) for each in self.columns)
        more = sizes[numbers]  # parts of each pair
        first = (np.cumsum(sizes) - sizes)[numbers] - (np.cumsum(more) - more)
        at = np.arange(more.sum()) + first.repeat(more)
        return texts.repeat(more), flat[at], counts.repeat(more)
