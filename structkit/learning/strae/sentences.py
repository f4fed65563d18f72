"""Sentences as numbers: the ids at their leaves, and for trees the depths of the leaves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np

from structkit.errors import UserError, flag, program
from structkit.structure.trees.tree import Ints, Tree, from_merges

Measured = TypeVar("Measured", bound=Sized)


@dataclass(frozen=True)
class Sentence:
    """The ids at the leaves of a sentence, and their depths in its tree, if it has one."""

    ids: Ints  # (leaves,)
    depths: Ints  # (leaves,) or (0,)

    def __len__(self) -> int:
        return len(self.ids)


class Sentences(Sequence[Sentence]):
    """Many sentences in three flat arrays, 8 bytes per leaf."""

    def __init__(self, sentences: Iterable[tuple[Sequence[int], Sequence[int]]]) -> None:
        ids, depths, offsets = _Growing(), _Growing(), [0]
        for sentence, tree in sentences:
            ids.add(sentence)
            depths.add(tree)
            offsets.append(offsets[-1] + len(sentence))
        self.ids, self.depths = ids.whole(), depths.whole()
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Sentence:  # type: ignore[override]
        part = slice(self.offsets[index], self.offsets[index + 1])
        return Sentence(self.ids[part], self.depths[part])


class _Growing:
    """An array of integers that grows piece by piece."""

    def __init__(self) -> None:
        self._parts: list[Ints] = []
        self._waiting: list[int] = []

    def add(self, values: Sequence[int]) -> None:
        self._waiting += values
        if len(self._waiting) > 1 << 16:
            self._parts.append(np.array(self._waiting, np.int32))
            self._waiting.clear()

    def whole(self) -> Ints:
        return np.concatenate([*self._parts, np.array(self._waiting, np.int32)])


def leaf_depths(tree: Tree) -> list[int]:
    """The depth of every leaf of a binary tree, left to right; a tree of one word has [0].

    Errors: `UserError` for a node that does not have exactly two children.
    """
    if not tree.is_binary:
        raise UserError("the tree has a node with more or fewer than two children", _remedy(tree))
    depths = [0]  # of all nodes, in their order
    for node, child in enumerate(tree.first.tolist()):
        if child >= 0:
            depths += (depths[node] + 1,) * 2
    of_words = [0] * len(tree.words)
    for place, depth in zip(tree.word.tolist(), depths, strict=True):
        if place >= 0:
            of_words[place] = depth
    return of_words


def _remedy(tree: Tree) -> str:
    """The remedy for a tree that is not binary: a bare word beside nodes may be half a label."""
    remedy = f"binarize it with {program('parse-trees')} {flag('parser', 'brackets')}"
    for node in np.flatnonzero(tree.count > 1).tolist():
        first, *others = tree.children(node)
        if tree.word[first] >= 0 and not tree.labels[first] and any(tree.labels[n] for n in others):
            word, label = tree.words[tree.word[first]], tree.labels[node]
            return (
                f"if {word!r} is part of the label {label!r}, parse the text again: a label holds "
                f"no space; if it is a word, {remedy}"
            )
    return remedy


def tree_of(words: Sequence[str], depths: Sequence[int]) -> Tree:
    """The binary tree whose leaves have these depths, the inverse of `leaf_depths`.

    >>> leaf_depths(tree_of(["a", "b", "c"], [1, 2, 2]))
    [1, 2, 2]
    """
    merges: list[tuple[int, int]] = []
    stack: list[tuple[int, int]] = []  # (node, depth) of what has no parent yet
    for leaf, depth in enumerate(depths):
        stack.append((leaf, depth))
        while len(stack) > 1 and stack[-1][1] == stack[-2][1]:
            right, left = stack.pop(), stack.pop()
            merges.append((left[0], right[0]))
            stack.append((len(words) + len(merges) - 1, left[1] - 1))
    return from_merges(words, merges)


def portions(sentences: Sequence[Measured], most: int) -> list[list[Measured]]:
    """A batch split, in order, into portions of at most `most` leaves, at least one sentence each.

    >>> one = Sentence(np.zeros(3, np.int32), np.array([1, 2, 2], np.int32))
    >>> [len(part) for part in portions([one, one, one], 6)]
    [2, 1]
    """
    parts: list[list[Measured]] = [[]]
    leaves = 0
    for sentence in sentences:
        leaves += len(sentence)
        if leaves > most and parts[-1]:
            parts.append([])
            leaves = len(sentence)
        parts[-1].append(sentence)
    return parts


def grown(
    ids: Sequence[Sequence[int]], depths: Sequence[int], shape: str
) -> tuple[list[int], Sequence[int]]:
    """The leaves of a tree whose words are split into pieces: each word becomes a subtree.

    >>> grown([[7], [1, 2, 3]], [1, 1], "balanced")
    ([7, 1, 2, 3], [1, 3, 3, 2])
    >>> grown([[7], [1, 2, 3]], [1, 1], "left")
    ([7, 1, 2, 3], [1, 3, 3, 2])
    """
    flat = [number for pieces in ids for number in pieces]
    if len(flat) == len(ids):
        return flat, depths
    pairs = zip(ids, depths, strict=True)
    return flat, [depth + more for pieces, depth in pairs for more in subtree(len(pieces), shape)]


@cache
def subtree(pieces: int, shape: str) -> tuple[int, ...]:
    """The depths of the leaves of a tree over this many pieces.

    >>> subtree(5, "balanced"), subtree(5, "left")
    ((3, 3, 2, 2, 2), (4, 4, 3, 2, 1))
    """
    if shape == "left":
        return tuple(min(pieces - 1, pieces - place) for place in range(pieces))
    depths = [0]
    parts: list[int] = [pieces]
    while any(part > 1 for part in parts):
        halves = [((part + 1) // 2, part // 2) if part > 1 else (part,) for part in parts]
        depths = [
            depth + (len(half) > 1)
            for half, depth in zip(halves, depths, strict=True)
            for _ in half
        ]
        parts = [part for half in halves for part in half]
    return tuple(depths)
