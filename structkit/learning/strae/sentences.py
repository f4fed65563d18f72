"""Sentences as numbers: the ids at their leaves, and for trees the depths of the leaves.

Tests: tests/learning/strae/test_final_punct.py.
"""

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np

from structkit.errors import UserError, program
from structkit.structure.trees.tree import Ints, Tree

Measured = TypeVar("Measured", bound=Sized)


@dataclass(frozen=True)
class Sentence:
    """The ids at the leaves of a sentence, and their depths in its tree, if it has one."""

    ids: Ints  # (leaves,)
    depths: Ints  # (leaves,) or (0,)

    def __len__(self) -> int:
        return len(self.ids)


def leaf_depths(tree: Tree, count: int) -> list[int]:
    """Return the depths of the first `count` leaves of a binary tree; [0] for one word.

    Where the right child of a node is left out, the left one takes its place. Errors: `UserError`
    for a node that does not have exactly two children.
    """
    if not tree.is_binary:
        raise UserError(
            "the tree has a node with more or fewer than two children",
            f"binarize it with {program('parse-trees', parser='brackets')}",
        )
    children, starts = tree.first.tolist(), tree.word.tolist()
    for node in reversed(range(len(starts))):  # children before parents
        if children[node] >= 0:
            starts[node] = starts[children[node]]
    depths = [0]  # of all nodes, in their order
    for node, child in enumerate(children):
        if child >= 0:
            depths += (depths[node] + (starts[child + 1] < count),) * 2
    of_words = [0] * len(tree.words)
    for place, depth in zip(tree.word.tolist(), depths, strict=True):
        if place >= 0:
            of_words[place] = depth
    return of_words[:count]


def portions(sentences: Sequence[Measured], maximum: int) -> list[list[Measured]]:
    """Split a batch, in order, into portions of `maximum` leaves, at least one sentence each.

    >>> one = Sentence(np.zeros(3, np.int32), np.array([1, 2, 2], np.int32))
    >>> [len(part) for part in portions([one, one, one], 6)]
    [2, 1]
    """
    parts: list[list[Measured]] = [[]]
    leaves = 0
    for sentence in sentences:
        leaves += len(sentence)
        if leaves > maximum and parts[-1]:
            parts.append([])
            leaves = len(sentence)
        parts[-1].append(sentence)
    return parts


def expand_subwords(ids: Sequence[Sequence[int]], depths: Sequence[int]) -> Sentence:
    """Return the sentence of words with these ids; a word's subwords are a balanced subtree.

    Without depths there is no tree.

    >>> sentence = expand_subwords([[7], [1, 2, 3]], [1, 1])
    >>> sentence.ids.tolist(), sentence.depths.tolist()
    ([7, 1, 2, 3], [1, 3, 3, 2])
    """
    of_leaves = [
        depth + more
        for pieces, depth in zip(ids, depths, strict=False)
        for more in balanced_depths(len(pieces))
    ]
    flat = [number for pieces in ids for number in pieces]
    return Sentence(np.array(flat, np.int32), np.array(of_leaves, np.int32))


@cache
def balanced_depths(pieces: int) -> tuple[int, ...]:
    """Return the depths of a tree over so many subwords, the longer half at the left.

    >>> balanced_depths(5)
    (3, 3, 2, 2, 2)
    """
    if pieces == 1:
        return (0,)
    half = pieces // 2  # recursion is logarithmic in the subwords
    return tuple(depth + 1 for depth in balanced_depths(pieces - half) + balanced_depths(half))
