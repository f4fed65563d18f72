"""Binary trees whose shape depends on the number of words alone, and random ones.

Tests: tests/structure/trees/test_trees.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import ClassVar

from structkit.settings import settings_class
from structkit.structure.trees.parsers import Parser, Unparsed
from structkit.structure.trees.tree import SPLIT_PLACES, Tree, grow, no_words
from structkit.structure.trees.words import words_of


@settings_class
class ShapeParser(Parser):
    """A parser that needs only the words of a text, as `split` or `tree` says."""

    split: ClassVar[str] = "right"
    """Where each node is split: `right` after its first word, `left`, or `balanced`."""

    tokenized: bool = False

    def tree(self, words: Sequence[str], key: str) -> Tree:
        """Return the tree over the words of the text with this key."""
        return shaped(words, self.split)

    def trees(self, texts: Iterable[Unparsed]) -> Iterator[Tree]:
        """Yield the tree of each text."""
        for each in texts:
            yield self.tree(words_of(each.text, tokenized=self.tokenized), each.key)


def shaped(words: Sequence[str], factor: str) -> Tree:
    """Return the tree whose nodes are split as when a long node is: `right` branches to the right.

    With `balanced`, the longer half is the right one.

    >>> shaped(["a", "b", "c"], "right").spans().tolist()
    [[0, 3], [0, 1], [1, 3], [1, 2], [2, 3]]
    >>> shaped(["a", "b", "c"], "left").spans().tolist()
    [[0, 3], [0, 2], [2, 3], [0, 1], [1, 2]]
    >>> shaped(list("abcde"), "balanced").spans().tolist()[:5]
    [[0, 5], [0, 2], [2, 5], [0, 1], [1, 2]]
    """
    return replace(_shape(len(words), factor), words=tuple(words))


def random(words: Sequence[str], rng: Random) -> Tree:
    """Return a tree split at random at each node, every place equally probable.

    >>> random(list("abc"), Random(0)).is_binary
    True
    """
    return _grow_split(words, lambda start, end: start + 1 + int(rng.random() * (end - start - 1)))


def _grow_split(words: Sequence[str], cut: Callable[[int, int], int]) -> Tree:
    """Return the tree over words whose nodes are split where `cut` says."""
    if not words:
        raise no_words()

    def expand(span: tuple[int, int]) -> tuple[str, str | None, Sequence[tuple[int, int]]]:
        start, end = span
        if end - start == 1:
            return "", words[start], ()
        at = cut(start, end)
        return "", None, ((start, at), (at, end))

    return grow((0, len(words)), expand)


@lru_cache(512)
def _shape(count: int, factor: str) -> Tree:
    """Return the tree over any `count` words."""
    tree = _grow_split([""] * count, SPLIT_PLACES[factor])
    for array in (tree.first, tree.count, tree.word):
        array.flags.writeable = False  # many trees share them
    return tree
