"""Binary trees whose shape depends on the number of words alone, and random ones.

Tests: tests/structure/trees/test_trees.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from structkit.structure.trees.parsers import Parser, Unparsed
from structkit.structure.trees.tree import Tree, from_depths, grow, no_words
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
    return _tree(words, _right)


def left_branching(words: Sequence[str]) -> Tree:
    """Return a tree in which each node holds a word and all words before it.

    >>> left_branching(["a", "b", "c"]).spans().tolist()
    [[0, 3], [0, 2], [2, 3], [0, 1], [1, 2]]
    """
    return _tree(words, _left)


def balanced(words: Sequence[str]) -> Tree:
    """Return a tree split in the middle at each node, the longer half to the right.

    >>> balanced(list("abcde")).spans().tolist()[:5]
    [[0, 5], [0, 2], [2, 5], [0, 1], [1, 2]]
    """
    return _tree(words, _balanced)


def random(words: Sequence[str], rng: Random) -> Tree:
    """Return a tree split at random at each node, every place equally probable.

    >>> random(list("abc"), Random(0)).is_binary
    True
    """
    if not words:
        raise no_words()

    def expand(span: tuple[int, int]) -> tuple[str, str | None, Sequence[tuple[int, int]]]:
        start, end = span
        if end - start == 1:
            return "", words[start], ()
        middle = start + 1 + int(rng.random() * (end - start - 1))
        return "", None, ((start, middle), (middle, end))

    return grow((0, len(words)), expand)


def _tree(words: Sequence[str], depths: Callable[[int], list[int]]) -> Tree:
    if not words:
        raise no_words()
    tree = _shape(len(words), depths)
    return Tree(tuple(words), tree.first, tree.count, tree.word, tree.labels)


@lru_cache(512)
def _shape(count: int, depths: Callable[[int], list[int]]) -> Tree:
    """Return a tree over `count` words, whose leaves have these depths."""
    tree = from_depths([""] * count, depths(count))
    for array in (tree.first, tree.count, tree.word):
        array.flags.writeable = False  # many trees share them
    return tree


def _right(count: int) -> list[int]:
    return [*range(1, count), count - 1]


def _left(count: int) -> list[int]:
    return _right(count)[::-1]


def _balanced(count: int) -> list[int]:
    depths, parts = [0], [count]
    while max(parts) > 1:
        halves = [(part // 2, part - part // 2) if part > 1 else (part,) for part in parts]
        deeper = zip(depths, halves, strict=True)
        depths = [depth + len(each) - 1 for depth, each in deeper for _ in each]
        parts = [part for each in halves for part in each]
    return depths
