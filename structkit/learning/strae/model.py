"""StrAE: embeddings composed up a tree and decomposed down again, by two small linear maps.

An embedding of E numbers is `channels` rows of E / channels columns; both maps see one row at a
time and are shared by all. Self-StrAE's trees are made by merging the most similar neighbors
repeatedly. Source: Opper et al. 2023, "StrAE: Autoencoding for Pre-Trained Embeddings using
Explicit Structure" (https://aclanthology.org/2023.emnlp-main.469), table 1; appendix B, algorithm
1.

Tests: tests/learning/strae/test_strae.py.
"""

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from structkit.embeddings.vectors import IntArray
from structkit.learning.strae.batches import TreeBatch, downward, upward
from structkit.learning.strae.losses import MIN_LENGTH
from structkit.learning.strae.sentences import Sentence
from structkit.learning.strae.training import BothWays, NodeModel, TreeEncoder, strae_training
from structkit.structure.trees.tree import Ints

TIE_TOLERANCE = 1e-6  # similarities closer than this are equal, and the leftmost pair wins

# of left and right children (n, E) and their keys (n,): the parents and their keys
Composing = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


class StrAE(NodeModel):
    """The four functions of StrAE: embed, compose, decompose, and the head of the vocabulary.

    Composition takes 2N² + N parameters, decomposition 2N² + 2N, for rows of N columns. Both start
    at random, or so that a parent is the sum of its children, over √2, and a child its parent, over
    √2. `settings` are `ChannelSettings`.
    """

    make_training = staticmethod(strae_training)
    encoder_class = TreeEncoder

    def __init__(self, words: int, settings: Any) -> None:
        super().__init__(words, settings)
        size, self.channels = settings.embedding_size, settings.channels
        columns = size // self.channels
        self.compose = nn.Linear(2 * columns, columns)
        self.decompose = nn.Linear(columns, 2 * columns)
        self.head = nn.Linear(size, words) if settings.has_own_head else None
        if settings.composition_init == "sum":
            part = torch.eye(columns) / sqrt(2)
            for linear, weight in (
                (self.compose, torch.cat([part, part], 1)),
                (self.decompose, torch.cat([part, part])),
            ):
                linear.weight.data.copy_(weight)
                linear.bias.data.zero_()

    def both_ways(self, sentences: Sequence[Sentence]) -> BothWays:
        """Return all embeddings: a root's two are equal; merging makes missing trees."""
        batch, up = self._composed(sentences)
        noise = self.noise((len(batch.inner), 2 * up.shape[1]), 1)
        return batch, up, self.downward(batch, up[: batch.sentences], noise)

    def roots(self, sentences: Sequence[Sentence]) -> Tensor:
        return self._composed(sentences)[1][: len(sentences)]

    def _composed(self, sentences: Sequence[Sentence]) -> tuple[TreeBatch, Tensor]:
        """Return the trees of sentences, and the upward embeddings of all nodes."""
        leaves = self.embed_text(sentences)
        if (noise := self.noise(leaves.shape, 0)) is not None:
            leaves = leaves * noise
        # the composition whose right child begins at a leaf has that leaf's row
        noise = self.noise(leaves.shape, 1)
        if not len(sentences[0].depths):
            sentences = self._merge(sentences, leaves.detach(), noise)
        batch = TreeBatch.of(sentences, leaves.device)
        noise = None if noise is None else noise[batch.right]
        return batch, self.upward(batch, leaves[batch.places], noise)

    def make_trees(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Return the sentences with the trees of greedy merging."""
        return self._merge(sentences, self.embed_text(sentences))

    def _merge(
        self, sentences: Sequence[Sentence], leaves: Tensor, noise: Tensor | None = None
    ) -> list[Sentence]:
        weight, bias = self.composition()

        # the key of a node is its first leaf
        def compose(
            left: Tensor, right: Tensor, first: Tensor, middle: Tensor
        ) -> tuple[Tensor, Tensor]:
            parents = torch.addmm(bias, torch.cat([left, right], 1), weight)  # (n, E)
            return parents if noise is None else parents.mul_(noise[middle]), first

        return merge(sentences, leaves, torch.arange(len(leaves), device=leaves.device), compose)

    def upward(self, batch: TreeBatch, leaves: Tensor, noise: Tensor | None = None) -> Tensor:
        """Return the upward embeddings of all nodes, (nodes, E).

        `leaves` are the embeddings of leaves; compositions are multiplied by `noise` (inner, E).
        """
        weight, bias = self.composition()

        def compose(children: Tensor, inner: slice) -> Tensor:
            parents = torch.addmm(bias, children.flatten(1), weight)  # (n, E)
            return parents if noise is None else parents * noise[inner]

        return upward(batch, leaves, compose)

    def downward(self, batch: TreeBatch, roots: Tensor, noise: Tensor | None = None) -> Tensor:
        """Return the downward embeddings of all nodes, (nodes, E), from the roots'.

        Decompositions are multiplied by `noise` (inner, 2E): left child, right child.
        """
        weight = torch.cat([self._diagonal(part) for part in self.decompose.weight.chunk(2)], 1)
        bias = torch.cat([part.repeat(self.channels) for part in self.decompose.bias.chunk(2)])

        def decompose(parents: Tensor, inner: slice) -> Tensor:
            children = torch.addmm(bias, parents, weight)  # (n, 2E)
            children = children if noise is None else children * noise[inner]
            return children.view(-1, 2, parents.shape[1])

        return downward(batch, roots, decompose)

    def composition(self) -> tuple[Tensor, Tensor]:
        """Return composition as one map of both children: weight (2E, E) and bias (E,)."""
        parts = [self._diagonal(part) for part in self.compose.weight.chunk(2, dim=1)]
        return torch.cat(parts), self.compose.bias.repeat(self.channels)

    def _diagonal(self, weight: Tensor) -> Tensor:
        """Return a map of rows (out, in) as one of embeddings, (E, E), for the right side.

        Ten times the work, and yet faster than many products of ten columns.
        """
        return torch.block_diag(*[weight.T] * self.channels)  # type: ignore[no-untyped-call,no-any-return]


def merge(
    sentences: Sequence[Sentence], leaves: Tensor, keys: Tensor, compose: Composing
) -> list[Sentence]:
    """Return the sentences with the trees of greedy merging, in all at once.

    `leaves` (leaves, E) are the embeddings in the order of the text, sentence after sentence;
    `keys` (leaves,) are whole numbers by which `compose` identifies them.
    """
    lengths = np.array([len(sentence) for sentence in sentences])
    # longest first: the sentences that still merge are the first ones
    order = np.argsort(-lengths, kind="stable")
    starts = (np.cumsum(lengths) - lengths)[order]
    with torch.no_grad():
        frontier = _Frontier(lengths[order], starts, leaves, keys)
        merges = [frontier.merge(compose) for _ in range(int(lengths.max()) - 1)]
    depths = _depths_of_merges(lengths[order], merges)
    return [
        Sentence(sentences[place].ids, depths[rank, : lengths[place]])
        for place, rank in enumerate(np.argsort(order))
    ]


class _Frontier:
    """Nodes left to merge: for each sentence a row of slots, linked to their neighbors.

    A merge puts the new node into the slot of its left child; the right child's slot is dead. The
    first slot of a row and the one after the sentence are walls, which are similar to nothing.
    """

    def __init__(
        self,
        lengths: IntArray,
        starts: IntArray,
        leaves: Tensor,
        keys: Tensor,
    ) -> None:
        device, self.width = leaves.device, int(lengths[0]) + 2
        column = np.arange(self.width)
        is_leaf = (column >= 1) & (column <= lengths[:, None])  # (sentences, width)
        leaf = np.where(is_leaf, starts[:, None] + column - 1, 0).ravel()
        wall = np.where(is_leaf, 0.0, -np.inf).ravel()
        places = torch.from_numpy(leaf).to(device)  # (slots,)
        self.wall = torch.from_numpy(wall).to(leaves)  # (slots,) added to a similarity
        self.vectors, self.keys = leaves[places], keys[places]  # (slots, E), (slots,)
        self.units = normalize(self.vectors, eps=MIN_LENGTH)
        slots = torch.arange(len(leaf), device=device)
        self.left, self.right = slots - 1, slots + 1
        self.row = slots[:: self.width]  # (sentences,)
        # of a slot with its right neighbor
        self.similar = self.wall.clone()
        self.similar[:-1] += (self.units[:-1] * self.units[1:]).sum(1) + self.wall[1:]
        steps = np.arange(self.width - 3)
        self.active = (lengths[:, None] - 1 > steps).sum(0).tolist()
        self.step = 0

    def merge(self, compose: Composing) -> tuple[Tensor, Tensor]:
        """Merge a pair in every sentence that has one; returns its left and right slots."""
        merging = self.active[self.step]
        self.step += 1
        row = self.row[:merging]
        similar = self.similar.view(-1, self.width)[:merging]
        best = similar.amax(1, keepdim=True)
        place = (similar >= best - TIE_TOLERANCE).to(torch.uint8).argmax(1)  # the first of the best
        left = row + place
        right = self.right[left]
        vectors, keys = self.vectors, self.keys
        parents, keys[left] = compose(vectors[left], vectors[right], keys[left], keys[right])
        units = normalize(parents, eps=MIN_LENGTH)
        self.vectors[left], self.units[left] = parents, units
        left_neighbor, right_neighbor = self.left[left], self.right[right]
        self.right[left], self.left[right_neighbor] = right_neighbor, left
        self.similar[right] = -torch.inf
        neighbors = torch.stack([left_neighbor, right_neighbor])  # (2, merging)
        similar = (self.units[neighbors] * units).sum(2) + self.wall[neighbors]
        self.similar[torch.stack([left_neighbor, left])] = similar
        return place, right - row


def _depths_of_merges(lengths: IntArray, merges: Sequence[tuple[Tensor, Tensor]]) -> Ints:
    """Return the depth of every leaf, (sentences, longest), from the merges in their order."""
    depths = np.zeros((len(lengths), int(lengths[0])), np.int32)
    if not merges:
        return depths
    ends = np.cumsum([len(left) for left, _ in merges])[:-1]
    slots = torch.cat([torch.stack(pair) for pair in merges], 1).cpu().numpy() - 1  # without wall
    for left, right in reversed(np.split(slots, ends, 1)):
        sentence = np.arange(len(left))
        # the node in the left slot becomes two, a level deeper
        depths[sentence, left] += 1
        depths[sentence, right] = depths[sentence, left]
    return depths
