"""Binary trees whose shape depends on the number of words alone, and random ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

import numpy as np

from structkit.structure.trees.parsers import Parser, Unparsed
from structkit.structure.trees.tree import Ints, Tree, grown, no_words
from structkit.structure.trees.words import words_of

Shape = tuple[Ints, Ints, Ints, tuple[str, ...]]


@dataclass(frozen=True)
class ShapeParser(Parser):
    """A parser that looks only at the number of words of a text."""

    tokenized: bool = False

    @abstractmethod
    def tree(self, words: Sequence[str], key: str) -> Tree:
        """The tree over the words of the text with this key."""

    def trees(self, texts: Iterable[Unparsed]) -> Iterator[Tree]:
        """The tree of each text."""
        for each in texts:
            yield self.tree(words_of(each.text, tokenized=self.tokenized), each.key)


def right_branching(words: Sequence[str]) -> Tree:
    """Each node holds a word and all that follows it.

    >>> right_branching(["a", "b", "c"]).spans().tolist()
    [[0, 3], [0, 1], [1, 3], [1, 2], [2, 3]]
    """
    return _tree(words, _right)


def left_branching(words: Sequence[str]) -> Tree:
    """Each node holds a word and all words before it.

    >>> left_branching(["a", "b", "c"]).spans().tolist()
    [[0, 3], [0, 2], [2, 3], [0, 1], [1, 2]]
    """
    return _tree(words, _left)


def balanced(words: Sequence[str]) -> Tree:
    """Each node is split in the middle, the longer half to the right.

    >>> balanced(list("abcde")).spans().tolist()[:5]
    [[0, 5], [0, 2], [2, 5], [0, 1], [1, 2]]
    """
    return _tree(words, _balanced)


def random(words: Sequence[str], rng: Random) -> Tree:
    """Each node is split at random, every place equally probable.

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

    return grown((0, len(words)), expand)


def _tree(words: Sequence[str], shape: Callable[[int], Shape]) -> Tree:
    if not words:
        raise no_words()
    return Tree(tuple(words), *shape(len(words)))


@lru_cache(512)
def _right(count: int) -> Shape:
    first, children, word = _empty(count)
    first[0:-1:2] = np.arange(1, 2 * count - 1, 2)
    children[0:-1:2] = 2
    word[1::2] = np.arange(count - 1)
    word[-1] = count - 1
    return _frozen(first, children, word)


@lru_cache(512)
def _left(count: int) -> Shape:
    first, children, word = _empty(count)
    inner = np.maximum(2 * np.arange(count - 1) - 1, 0)  # 0, 1, 3, 5 …
    first[inner] = np.arange(1, 2 * count - 1, 2)
    children[inner] = 2
    word[2::2] = np.arange(count - 1, 0, -1)
    word[max(2 * count - 3, 0)] = 0
    return _frozen(first, children, word)


@lru_cache(512)
def _balanced(count: int) -> Shape:
    first, children, word = _empty(count)
    spans = [(0, count)]
    for node, (start, end) in enumerate(spans):  # it grows while it is read
        if end - start == 1:
            word[node] = start
        else:
            middle = (start + end) // 2
            first[node], children[node] = len(spans), 2
            spans += [(start, middle), (middle, end)]
    return _frozen(first, children, word)


def _empty(count: int) -> tuple[Ints, Ints, Ints]:
    nodes = 2 * count - 1
    return np.full(nodes, -1, np.int32), np.zeros(nodes, np.int32), np.full(nodes, -1, np.int32)


def _frozen(*arrays: Ints) -> Shape:
    for array in arrays:
        array.flags.writeable = False  # many trees share them
    first, children, word = arrays
    return first, children, word, ("",) * len(first)
