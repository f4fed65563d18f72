"""Binary trees in batches: one breadth-first order for all sentences, so that loops are over depth.

How to use it. A sentence is the ids at its leaves and, where it has a tree, the depth of every
leaf, left to right: that alone determines a binary tree. `TreeBatch.of(sentences, device)` numbers
the nodes of all trees at once: first the roots, in the order of the sentences, then all nodes of
depth 1, and so on; within a depth from left to right, so that the two children of a node are
neighbors. Hence, with B sentences and the inner nodes counted from 0 in that order:

    the children of inner node i are the nodes B + 2i (left) and B + 2i + 1 (right)
    children of several inner nodes i … j are adjacent: vectors[B + 2i : B + 2j].view(-1, 2, E)

`upward` and `downward` walk over the depths of a batch: there is no loop over nodes or sentences.

`start` and `width` give the leaves under a node, counted over the text of the batch, sentence after
sentence; `text_vectors[batch.places]` is in the order of `batch.leaves`.

Tests: tests/learning/strae/test_strae.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
import torch
from torch import Tensor

from structkit.embeddings.vectors import IntArray
from structkit.learning.strae.sentences import Sentence
from structkit.structure.trees.tree import Ints


@dataclass(frozen=True)
class TreeBatch:
    """Trees in one breadth-first order of their nodes (see above); indices are on the device."""

    sentences: int
    ids: Tensor  # (leaves,) the ids at the leaves, in the order of the nodes
    leaves: Tensor  # (leaves,) their nodes
    inner: Tensor  # (inner,) all other nodes
    levels: tuple[tuple[int, int], ...]  # (first, last) in `inner` of one depth
    start: IntArray  # (nodes,) first leaf below, counted over the batch
    width: IntArray  # (nodes,) number of leaves below
    lengths: IntArray  # (sentences,) their leaves
    text: Ints  # (leaves,) the ids in the order of the text

    @classmethod
    def of(cls, sentences: Sequence[Sentence], device: torch.device | str = "cpu") -> TreeBatch:
        """Return the batch of sentences that all have trees."""
        ids = np.concatenate([sentence.ids for sentence in sentences])
        depths = np.concatenate([sentence.depths for sentence in sentences])
        assert len(ids) == len(depths), "a sentence without a tree"
        levels = list(_nodes_by_depth(depths))[::-1]  # from the roots down
        start = np.concatenate([level[0] for level in levels])
        width = np.concatenate([level[1] for level in levels])
        leaf = width == 1
        leaves = np.flatnonzero(leaf)
        counts = [int(np.count_nonzero(level[1] > 1)) for level in levels]
        ends = np.cumsum(counts).tolist()
        return cls(
            len(sentences),
            torch.from_numpy(ids[start[leaves]].astype(np.int64)).to(device),
            torch.from_numpy(leaves).to(device),
            torch.from_numpy(np.flatnonzero(~leaf)).to(device),
            tuple((end - count, end) for count, end in zip(counts, ends, strict=True) if count),
            start,
            width,
            np.array([len(sentence) for sentence in sentences]),
            ids,
        )

    @property
    def nodes(self) -> int:
        """How many nodes all trees have."""
        return len(self.start)

    def children(self, states: Tensor, inner: slice) -> Tensor:
        """Return the states of the children of some inner nodes, (n, 2, S), left and right."""
        places = slice(self.sentences + 2 * inner.start, self.sentences + 2 * inner.stop)
        return states[places].view(-1, 2, states.shape[1])

    @property
    def device(self) -> torch.device:
        """Where the indices are."""
        return self.ids.device

    @cached_property
    def sentence(self) -> Tensor:
        """The sentence of every node, (nodes,)."""
        owner = np.repeat(np.arange(self.sentences), self.lengths)  # (leaves,)
        return torch.from_numpy(owner[self.start]).to(self.device)

    @cached_property
    def places(self) -> Tensor:
        """The place of each of `leaves` in the text of the batch, (leaves,)."""
        return torch.from_numpy(self.start[self.width == 1]).to(self.device)

    @cached_property
    def in_trees(self) -> Tensor | None:
        """The nodes of sentences with more than one word, or None if these are all nodes."""
        if self.lengths.min() > 1:
            return None
        single = np.zeros(self.nodes, bool)
        single[: self.sentences] = self.lengths == 1
        return torch.from_numpy(np.flatnonzero(~single)).to(self.device)

    @cached_property
    def right(self) -> Tensor:
        """The first leaf of the right child of every inner node, (inner,): no two are equal."""
        return torch.from_numpy(self.start[self.sentences + 1 :: 2]).to(self.device)

    @cached_property
    def same(self) -> Tensor:
        """A number for every node, equal for nodes over the same ids, (nodes,)."""
        spans = zip(self.start.tolist(), (self.start + self.width).tolist(), strict=True)
        digests = (blake2b(self.text[start:end].tobytes(), digest_size=8) for start, end in spans)
        numbers = np.frombuffer(b"".join(digest.digest() for digest in digests), np.int64)
        return torch.from_numpy(numbers.copy()).to(self.device)


def _nodes_by_depth(depths: Ints) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield first leaf and width of all nodes of a depth, for every depth from the deepest to 0.

    Of nodes in text order, those of the greatest depth are pairs of siblings: each pair becomes its
    parent, one level higher, and so on until only roots are left.
    """
    depths = depths.copy()
    start = np.arange(len(depths), dtype=np.int64)
    width = np.ones(len(depths), np.int64)
    for depth in range(int(depths.max()), -1, -1):
        deepest = np.flatnonzero(depths == depth)
        yield start[deepest], width[deepest]
        if depth:
            left, right = deepest[::2], deepest[1::2]
            depths[left] = depth - 1
            width[left] += width[right]
            kept = np.ones(len(depths), bool)
            kept[right] = False
            depths, start, width = depths[kept], start[kept], width[kept]


# makes parents (n, S) from children (n, 2, S), or such children from their parents; it also gets
# which of `batch.inner` the parents are
LevelStep = Callable[[Tensor, slice], Tensor]


def upward(batch: TreeBatch, leaves: Tensor, compose: LevelStep) -> Tensor:
    """Return the states of all nodes (nodes, S), from those of `batch.leaves` (leaves, S)."""
    bottom_up: list[Tensor] = []
    below = leaves[:0]
    for level_leaves, inner, _, order in reversed(list(_walk_depths(batch))):
        states = leaves[level_leaves]
        if len(below):
            states = torch.cat([states, compose(below.view(-1, 2, below.shape[1]), inner)])
        below = states[order]
        bottom_up.append(below)
    return torch.cat(bottom_up[::-1])


def downward(batch: TreeBatch, roots: Tensor, decompose: LevelStep) -> Tensor:
    """Return the states of all nodes (nodes, S), from the roots' (sentences, S)."""
    down = [roots]
    for _, inner, places, _ in _walk_depths(batch):
        if len(places):
            down.append(decompose(down[-1][places], inner).flatten(0, 1))
    return torch.cat(down)


def _walk_depths(batch: TreeBatch) -> Iterator[tuple[slice, slice, Tensor, Tensor]]:
    """Yield all depths of a batch, from the roots down, each with leaves and inner nodes.

    Which of `batch.leaves` and of `batch.inner` are at this depth; the places of these inner nodes
    among its nodes; the order that brings leaves, then inner nodes, into the nodes' order.
    """
    first, last, leaf = 0, batch.sentences, 0
    for start, end in [*batch.levels, (0, 0)]:
        places = batch.inner[start:end] - first
        leaves = slice(leaf, leaf + last - first - len(places))
        both = torch.cat([batch.leaves[leaves] - first, places])
        yield leaves, slice(start, end), places, both.argsort()
        first, last, leaf = last, last + 2 * len(places), leaves.stop
