"""Binary trees whose shape depends on the number of words alone, and random ones.

Tests: tests/structure/trees/test_trees.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from structkit.structure.trees.parsers import Parser, Unparsed
from structkit.structure.trees.tree import MIDDLES, Tree, grow, no_words
from structkit.structure.trees.words import words_of


@dataclass(frozen=True)
class ShapeParser(Parser):
    """A parser that looks only at the number of words of a text, as `shape` or `tree` says."""

    tokenized: bool = False

    @staticmethod
    def shape(words: Sequence[str]) -> Tree:
        """Return the tree over words."""
        raise NotImplementedError

    def tree(self, words: Sequence[str], key: str) -> Tree:
        """Return the tree over the words of the text with this key."""
        return self.shape(words)

    def trees(self, texts: Iterable[Unparsed]) -> Iterator[Tree]:
        """Yield the tree of each text."""
        for each in texts:
            yield self.tree(words_of(each.text, tokenized=self.tokenized), each.key)


def right_branching(words: Sequence[str]) -> Tree:
    """Return a tree in which each node holds a word and all that follows it.

    >>> right_branching(["a", "b", "c"]).spans().tolist()
    [[0, 3], [0, 1], [1, 3], [1, 2], [2, 3]]
    """
    return _tree(words, "right")


def left_branching(words: Sequence[str]) -> Tree:
    """Return a tree in which each node holds a word and all words before it.

    >>> left_branching(["a", "b", "c"]).spans().tolist()
    [[0, 3], [0, 2], [2, 3], [0, 1], [1, 2]]
    """
    return _tree(words, "left")


def balanced(words: Sequence[str]) -> Tree:
    """Return a tree split in the middle at each node, the longer half to the right.

    >>> balanced(list("abcde")).spans().tolist()[:5]
    [[0, 5], [0, 2], [2, 5], [0, 1], [1, 2]]
    """
    return _tree(words, "balanced")


def random(words: Sequence[str], rng: Random) -> Tree:
    """Return a tree split at random at each node, every place equally probable.

    >>> random(list("abc"), Random(0)).is_binary
    True
    """
    if not words:
        raise no_words()
    return _split(words, lambda start, end: start + 1 + int(rng.random() * (end - start - 1)))


def _split(words: Sequence[str], cut: Callable[[int, int], int]) -> Tree:
    """Return the tree over words whose nodes are split where `cut` says."""

    def expand(span: tuple[int, int]) -> tuple[str, str | None, Sequence[tuple[int, int]]]:
        start, end = span
        if end - start == 1:
            return "", words[start], ()
        at = cut(start, end)
        return "", None, ((start, at), (at, end))

    return grow((0, len(words)), expand)


def _tree(words: Sequence[str], factor: str) -> Tree:
    if not words:
        raise no_words()
    tree = _shape(len(words), factor)
    return Tree(tuple(words), tree.first, tree.count, tree.word, tree.labels)


@lru_cache(512)
def _shape(count: int, factor: str) -> Tree:
    """Return the tree over any `count` words."""
    tree = _split([""] * count, MIDDLES[factor])
    for array in (tree.first, tree.count, tree.word):
        array.flags.writeable = False  # many trees share them
    return tree
