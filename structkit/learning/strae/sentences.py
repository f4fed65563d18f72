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


def leaf_depths(tree: Tree) -> list[int]:
    """Return the depths of a binary tree's leaves, left to right; [0] for one word.

    Errors: `UserError` for a node that does not have exactly two children.
    """
    if not tree.is_binary:
        raise UserError(
            "the tree has a node with more or fewer than two children",
            f"binarize it with {program('parse-trees', parser='brackets')}",
        )
    depths = [0]  # of all nodes, in their order
    for node, child in enumerate(tree.first.tolist()):
        if child >= 0:
            depths += (depths[node] + 1,) * 2
    of_words = [0] * len(tree.words)
    for place, depth in zip(tree.word.tolist(), depths, strict=True):
        if place >= 0:
            of_words[place] = depth
    return of_words


def drop_last_leaves(depths: Sequence[int], count: int) -> list[int]:
    """Return the depths of a binary tree's leaves without the last `count`.

    >>> drop_last_leaves([1, 2, 2], 1), drop_last_leaves([2, 2, 1], 2)
    ([1, 1], [0])
    """
    kept = list(depths)
    for _ in range(count):
        depth = kept.pop()
        # the leaves of the sibling fill as much as the last leaf did: 2 to the power of -depth
        place, missing, deepest = len(kept), 1, depth
        while missing:
            place -= 1
            if kept[place] > deepest:
                missing <<= kept[place] - deepest
                deepest = kept[place]
            missing -= 1 << (deepest - kept[place])
            kept[place] -= 1
    return kept


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
