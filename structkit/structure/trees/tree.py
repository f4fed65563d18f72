"""A tree over the words of a sentence, as arrays, and ways to make one.

Nothing here is recursive: a tree may be as deep as it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.errors import UserError

Numbers = NDArray[np.int32]
Item = TypeVar("Item")


@dataclass(frozen=True)
class Tree:
    """A tree, its nodes numbered breadth-first: 0 is the root, children stand side by side.

    A leaf is a word with its tag, `(NN cat)`. Arrays are (nodes,).
    """

    words: tuple[str, ...]  # the leaves from left to right, brackets in them unescaped
    first: Numbers  # number of the first child; -1 at a leaf
    count: Numbers  # number of children; 0 at a leaf
    word: Numbers  # place in `words` at a leaf, else -1
    labels: tuple[str, ...]  # "" where there is none

    @property
    def is_binary(self) -> bool:
        """Whether every node has two children or is a leaf."""
        return not np.any(self.count & ~2)

    def spans(self) -> Numbers:
        """First word and end (nodes, 2) of what each node covers, half-open."""
        spans = np.empty((len(self.first), 2), np.int32)
        first, last = self.first.tolist(), (self.first + self.count - 1).tolist()
        starts, ends = self.word.tolist(), (self.word + 1).tolist()
        for node in range(len(first) - 1, -1, -1):  # children before parents
            if first[node] >= 0:
                starts[node], ends[node] = starts[first[node]], ends[last[node]]
        spans[:, 0], spans[:, 1] = starts, ends
        return spans

    def children(self, node: int) -> range:
        """The numbers of a node's children."""
        first = int(self.first[node])
        return range(first, first + int(self.count[node]))


def grown(root: Item, expand: Callable[[Item], tuple[str, str | None, Sequence[Item]]]) -> Tree:
    """The tree that grows from a root: `expand` gives label, word (at a leaf) and children."""
    items = [root]
    labels: list[str] = []
    first: list[int] = []
    count: list[int] = []
    found: list[str | None] = []
    for item in items:  # it grows while it is read
        label, word, children = expand(item)
        labels.append(label)
        found.append(word)
        first.append(len(items) if children else -1)
        count.append(len(children))
        items.extend(children)
    order = _leaves(first, count)
    place = np.full(len(items), -1, np.int32)
    place[order] = np.arange(len(order))
    words = tuple(word for word in (found[leaf] for leaf in order) if word is not None)
    return Tree(words, np.array(first, np.int32), np.array(count, np.int32), place, tuple(labels))


def _leaves(first: Sequence[int], count: Sequence[int]) -> list[int]:
    """The leaves from left to right."""
    found, stack = [], [0]
    while stack:
        node = stack.pop()
        if count[node]:
            stack.extend(range(first[node] + count[node] - 1, first[node] - 1, -1))
        else:
            found.append(node)
    return found


def from_spans(
    words: Sequence[str], spans: Sequence[tuple[int, int]], labels: Sequence[str] | None = None
) -> Tree:
    """The tree with these nodes above its words; the whole is one of them anyway.

    Spans of one word are that word's leaf. Errors: `UserError` where two spans cross.

    >>> from_spans(["a", "b", "c"], [(1, 3)]).spans().tolist()
    [[0, 3], [0, 1], [1, 3], [1, 2], [2, 3]]
    """
    named = dict(zip(spans, labels or [""] * len(spans), strict=True))
    whole = (0, len(words))
    above = sorted({*named, whole, *((at, at + 1) for at in range(len(words)))}, key=_outer)
    children: dict[tuple[int, int], list[tuple[int, int]]] = {span: [] for span in above}
    stack: list[tuple[int, int]] = []
    for span in above:
        while stack and stack[-1][1] <= span[0]:
            stack.pop()
        if stack and stack[-1][1] < span[1]:
            raise UserError(f"the spans {stack[-1]} and {span} cross")
        if stack:
            children[stack[-1]].append(span)
        stack.append(span)

    def expand(span: tuple[int, int]) -> tuple[str, str | None, list[tuple[int, int]]]:
        word = words[span[0]] if span[1] - span[0] == 1 else None
        return named.get(span, ""), word, children[span]

    if not words:
        raise UserError("there are no words to make a tree of")
    return grown(whole, expand)


def _outer(span: tuple[int, int]) -> tuple[int, int]:
    return span[0], -span[1]


def from_merges(words: Sequence[str], merges: Sequence[tuple[int, int]]) -> Tree:
    """The binary tree that n - 1 merges build: nodes 0 … n-1 are words, n+i is the i-th merge.

    >>> from_merges(["a", "b", "c"], [(0, 1), (3, 2)]).spans().tolist()
    [[0, 3], [0, 2], [2, 3], [0, 1], [1, 2]]
    """
    if not words:
        raise UserError("there are no words to make a tree of")

    def expand(node: int) -> tuple[str, str | None, Sequence[int]]:
        if node < len(words):
            return "", words[node], ()
        return "", None, merges[node - len(words)]

    return grown(len(words) + len(merges) - 1, expand)
