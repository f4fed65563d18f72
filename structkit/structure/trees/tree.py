"""A tree over the words of a sentence, as arrays, and ways to make one.

Nothing here is recursive: a tree may be as deep as it likes.

Tests: tests/structure/trees/test_trees.py.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.errors import RECORD_REMEDY, UserError

Ints = NDArray[np.int32]
GrownItem = TypeVar("GrownItem")
# where a node, from `start` to `end`, splits into two
SPLIT_PLACES: dict[str, Callable[[int, int], int]] = {
    "right": lambda start, end: start + 1,
    "left": lambda start, end: end - 1,
    "balanced": lambda start, end: (start + end) // 2,
}


class BadSpans(UserError):
    """Spans that make no tree of a text: the parser's fault, not the text's."""


@dataclass(frozen=True)
class Tree:
    """A tree, its nodes numbered breadth-first: 0 is the root, siblings are adjacent.

    A leaf is a word with its tag, `(NN cat)`. Arrays are (nodes,).
    """

    words: tuple[str, ...]  # the leaves from left to right, brackets in them unescaped
    first: Ints  # number of the first child; -1 at a leaf
    count: Ints  # number of children; 0 at a leaf
    word: Ints  # place in `words` at a leaf, otherwise -1
    labels: tuple[str, ...]  # "" where there is none

    @property
    def is_binary(self) -> bool:
        """Whether every node has two children or is a leaf."""
        return not np.any(self.count & ~2)

    def spans(self) -> Ints:
        """Return first word and end (nodes, 2) of each node, half-open."""
        spans = np.empty((len(self.first), 2), np.int32)
        first, last = self.first.tolist(), (self.first + self.count - 1).tolist()
        starts, ends = self.word.tolist(), (self.word + 1).tolist()
        for node in range(len(first) - 1, -1, -1):  # children before parents
            if first[node] >= 0:
                starts[node], ends[node] = starts[first[node]], ends[last[node]]
        spans[:, 0], spans[:, 1] = starts, ends
        return spans

    def children(self, node: int) -> range:
        """Return the numbers of a node's children."""
        first = int(self.first[node])
        return range(first, first + int(self.count[node]))


def no_words() -> UserError:
    """Return the error for a text without words: a tree has at least one."""
    return UserError("there are no words to make a tree of", "leave the record out")


def grow(
    root: GrownItem, expand: Callable[[GrownItem], tuple[str, str | None, Sequence[GrownItem]]]
) -> Tree:
    """Grow a tree from a root: `expand` returns label, word (at a leaf) and children."""
    items, open_depths = [root], [0]
    labels: list[str] = []
    words: list[str] = []
    depths = array("i")
    while items:
        label, word, children = expand(items.pop())
        depth = open_depths.pop()
        labels.append(label)
        depths.append(depth)
        if word is not None:
            words.append(word)
        items.extend(reversed(children))
        open_depths.extend([depth + 1] * len(children))
    return from_preorder(words, labels, depths)


def from_preorder(words: Sequence[str], labels: Sequence[str], depths: array[int]) -> Tree:
    """Return the tree whose labels and depths are in preorder: only arrays, for long documents."""
    depth = np.asarray(depths)
    nodes = len(depth)
    order = depth.argsort(kind="stable")  # number, breadth-first, to place in preorder
    number = np.empty(nodes, np.int32)
    number[order] = np.arange(nodes, dtype=np.int32)
    has_children = np.append(depth[1:] > depth[:-1], False)  # the first one is the next node
    word = np.cumsum(~has_children, dtype=np.int32) - 1
    word[has_children] = -1
    word = word[order]
    inner = np.flatnonzero(word < 0)
    first = np.full(nodes, -1, np.int32)
    first[inner] = number[order[inner] + 1]
    count = np.zeros(nodes, np.int32)
    count[inner] = np.diff(first[inner], append=nodes)  # siblings are adjacent
    named = tuple(map(labels.__getitem__, order.data))
    return Tree(tuple(words), first, count, word, named)


def from_spans(
    words: Sequence[str],
    spans: Sequence[tuple[int, int]] | Ints,
    labels: Sequence[str] | None = None,
) -> Tree:
    """Return the tree with these nodes above its words; the whole is always one of them.

    Spans of one word are that word's leaf; of equal spans the last one gives the label. Errors:
    `BadSpans` if two spans cross, or one is empty or outside the words.

    >>> from_spans(["a", "b", "c"], [(1, 3)]).spans().tolist()
    [[0, 3], [0, 1], [1, 3], [1, 2], [2, 3]]
    """
    if not words:
        raise no_words()
    cuts = np.arange(len(words) + 1, dtype=np.int32)
    given = np.asarray(spans, np.int32).reshape(-1, 2)
    bad = (given[:, 0] < 0) | (given[:, 0] >= given[:, 1]) | (given[:, 1] > len(words))
    if bad.any():
        start, end = given[bad][0].tolist()
        problem = f"the span ({start}, {end}) is empty or outside the text of {len(words)} words"
        raise BadSpans(problem, RECORD_REMEDY)
    starts = np.concatenate(([0], cuts[:-1], given[:, 0]), dtype=np.int32)
    ends = np.concatenate((cuts[-1:], cuts[1:], given[:, 1]), dtype=np.int32)
    order = np.lexsort((-ends, starts))  # outer spans first
    starts, ends = starts[order], ends[order]
    last = np.append((starts[1:] != starts[:-1]) | (ends[1:] != ends[:-1]), True)
    names = ["" if labels is None or at < 0 else labels[at] for at in order[last] - len(cuts)]
    return from_preorder(words, names, _span_depths(starts[last], ends[last]))


def _span_depths(starts: Ints, ends: Ints) -> array[int]:
    """Return how deeply each span is nested in others, in preorder."""
    depths = array("i")
    stack: list[tuple[int, int]] = []
    for span in zip(starts.data, ends.data, strict=True):
        while stack and stack[-1][1] <= span[0]:
            stack.pop()
        if stack and stack[-1][1] < span[1]:
            raise BadSpans(f"the spans {stack[-1]} and {span} cross", RECORD_REMEDY)
        depths.append(len(stack))
        stack.append(span)
    return depths


def from_depths(words: Sequence[str], depths: Sequence[int]) -> Tree:
    """Return the binary tree whose leaves have these depths, which determine it.

    >>> from_depths(["a", "b", "c"], [2, 2, 1]).spans().tolist()
    [[0, 3], [0, 2], [2, 3], [0, 1], [1, 2]]
    """
    spans: list[tuple[int, int]] = []
    stack: list[tuple[int, int]] = []  # first word and depth of nodes without a parent yet
    for place, depth in enumerate(depths):
        stack.append((place, depth))
        while len(stack) > 1 and stack[-1][1] == stack[-2][1]:
            stack.pop()
            start, deeper = stack.pop()
            spans.append((start, place + 1))
            stack.append((start, deeper - 1))
    return from_spans(words, spans)
