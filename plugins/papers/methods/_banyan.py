"""Banyan's model: diagonal composition and decomposition over entangled trees, and its training.

Entangled trees are the nodes of a batch, where equal tokens are one leaf and equal pairs one node.
Each node is composed once, and decomposed to the mean over all its parents. Nodes are numbered by
height, over which loops run: leaves first, then pairs of leaves, and so on. Source: Opper and
Siddharth 2025, "Banyan" (https://arxiv.org/abs/2407.17771), section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from structkit.learning.strae.batches import TreeBatch
from structkit.learning.strae.model import merge
from structkit.learning.strae.sentences import Sentence
from structkit.learning.strae.training import BothWays, NodeModel, TreeEncoder, TreeTraining
from structkit.learning.training.autograd import vocabulary_loss

# odd, and without a pattern: the golden ratio, pi and e in 64 bits
LEFT_FACTOR = -0x61C8864680B583EB
RIGHT_FACTOR = 0x3243F6A8885A308D
# keeps two small numbers, such as the ids of words, from mixing to a small one
KEY_OFFSET = 0x2B7E151628AED2A7


def pair_keys(left: Tensor, right: Tensor) -> Tensor:
    """Return the keys of nodes whose children have these keys, (n,): equal only for equal pairs."""
    mixed = (left * LEFT_FACTOR) ^ (right * RIGHT_FACTOR + KEY_OFFSET)  # multiplied modulo 2^64
    mixed = (mixed ^ (mixed >> 31)) * RIGHT_FACTOR
    return mixed ^ (mixed >> 29)


@dataclass(frozen=True)
class Entangled:
    """Distinct nodes of a batch, by height: U nodes, I of which have children."""

    ids: Tensor  # (leaves,) the words at the leaves, which are the first nodes
    keys: Tensor  # (U,)
    left: Tensor  # (I,) the children of all other nodes
    right: Tensor  # (I,)
    edges: Tensor  # (2I,) twice a node's place in `left`, plus 1 for the right; by child
    starts: Tensor  # (U,) where the edges to a node begin
    is_root: Tensor  # (U,) which nodes have no parent
    levels: tuple[tuple[int, int, int, int], ...]  # by height: first and last node and edge
    node: Tensor  # (nodes,) which of these a node of the batch is

    @classmethod
    def of(cls, batch: TreeBatch, *, separate: bool = False) -> Entangled:
        """Return the nodes of a batch, or with `separate` the nodes of each sentence by itself."""
        device, trees = batch.device, batch.sentences
        keys = torch.zeros(batch.nodes, dtype=torch.int64, device=device)
        ids, heights, place = keys.clone(), keys.clone(), keys.clone()
        ids[batch.leaves] = batch.ids
        place[batch.inner] = torch.arange(len(batch.inner), device=device)
        owner = batch.sentence[batch.leaves] if separate else torch.zeros_like(batch.ids)
        keys[batch.leaves] = pair_keys(batch.ids, owner)
        for first, last in reversed(batch.levels):
            inner, below = batch.inner[first:last], slice(trees + 2 * first, trees + 2 * last)
            keys[inner] = pair_keys(*keys[below].view(-1, 2).unbind(1))
            heights[inner] = heights[below].view(-1, 2).amax(1) + 1
        different, number = keys.unique(return_inverse=True)  # type: ignore[no-untyped-call]
        example = torch.empty_like(different).scatter_(
            0, number, torch.arange(len(keys)).to(device)
        )
        order = heights[example].argsort(stable=True)
        example = example[order]
        node = order.argsort()[number]
        sizes = heights[example].bincount()
        leaves = int(sizes[0])
        first_child = trees + 2 * place[example[leaves:]]
        children = node[torch.stack([first_child, first_child + 1], 1)]  # (I, 2)
        edges = children.flatten().argsort(stable=True)
        parents = children.flatten().bincount(minlength=len(different))  # (U,)
        starts = parents.cumsum(0) - parents
        first_edges = [*starts.tolist(), len(edges)]
        levels = pairwise([0, *accumulate(sizes.tolist())])
        return cls(
            ids[example[:leaves]],
            different[order],
            children[:, 0].contiguous(),
            children[:, 1].contiguous(),
            edges,
            starts,
            parents == 0,
            tuple((first, end, first_edges[first], first_edges[end]) for first, end in levels),
            node,
        )


def compose_nodes(
    graph: Entangled, leaves: Tensor, factors: tuple[Tensor, ...], noise: Tensor | None
) -> Tensor:
    """Return all nodes (U, E) from the leaves; compositions are multiplied by `noise` (I, E)."""
    count, up = len(leaves), leaves
    for first, last, _, _ in graph.levels[1:]:
        part = slice(first - count, last - count)
        children = (functional.embedding(side[part], up) for side in (graph.left, graph.right))
        made = compose_pairs(*children, *factors)
        up = torch.cat([up, made if noise is None else made * noise[part]])
    return up


def compose_pairs(left: Tensor, right: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """Return the parents (n, E) of nodes: left · a + right · b + c.

    >>> compose_pairs(*torch.tensor([[[1.0]], [[2.0]], [[3.0]], [[4.0]], [[0.5]]]))
    tensor([[11.5000]])
    """
    return torch.addcmul(c, left, a).addcmul_(right, b)


def decompose_nodes(
    graph: Entangled, up: Tensor, factors: Tensor, biases: Tensor, noise: Tensor | None
) -> Tensor:
    """Return all nodes (U, E) from the upward roots: the children of a node are node · p + s.

    `factors` and `biases` are (2, E), of left and right child; `noise` is (I, 2, E). A node with
    several parents is the mean of their contributions.
    """
    count = len(graph.ids)
    downs, edges = list[Tensor](), up[:0]  # from the highest nodes on
    ups = torch.split(up, [last - first for first, last, _, _ in graph.levels])
    for own, (first, last, start, end) in zip(ups[::-1], graph.levels[::-1], strict=True):
        places, starts = graph.edges[start:end] - 2 * (last - count), graph.starts[first:last]
        mean = functional.embedding_bag(places, edges, starts - start, mode="mean")
        here = torch.where(graph.is_root[first:last, None], own, mean)
        downs.append(here)
        if first >= count:
            made = torch.addcmul(biases, here[:, None], factors)  # (n, 2, E)
            made = made if noise is None else made * noise[first - count : last - count]
            edges = torch.cat([made.flatten(0, 1), edges])
    return torch.cat(downs[::-1])


class BanyanTraining(TreeTraining):
    """Training on the trees that the model makes: cross-entropy at the distinct tokens."""

    model: Banyan

    def losses(self, sentences: list[Sentence]) -> dict[str, Tensor]:
        """Return the mean over the distinct tokens of one portion."""
        _, graph, _, down = self.model.entangle(sentences)
        tokens, head = len(graph.ids), self.model.head
        weights = down.new_full((tokens,), 1 / tokens)
        return {"ce": vocabulary_loss(down[:tokens], head.weight, head.bias, graph.ids, weights)}

    def counts(self, sentences: list[Sentence]) -> dict[str, int]:
        """Return the number of distinct tokens."""
        return {"ce": len(np.unique(np.concatenate([sentence.ids for sentence in sentences])))}


class Banyan(NodeModel):
    """A table of embeddings, seven vectors of one channel's size, and a linear head."""

    make_training = BanyanTraining
    encoder_class = TreeEncoder
    dropouts = (0.1, 0.1)  # Banyan, section 4
    head: nn.Linear

    def __init__(self, words: int, settings: Any) -> None:
        super().__init__(words, settings)
        size, self.channels = settings.embedding_size, settings.channels
        columns = size // self.channels
        # of left and right child; σ(0.6 … 0.9) is 0.65 … 0.71
        self.compose = nn.Parameter(torch.empty(2, columns).uniform_(0.6, 0.9))
        self.compose_bias = nn.Parameter(torch.zeros(columns))
        self.decompose = nn.Parameter(torch.empty(2, columns).uniform_(0.6, 0.9))
        self.decompose_bias = nn.Parameter(torch.zeros(2, columns))
        self.head = nn.Linear(size, words)

    def composition(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the factors of left and right child and the bias, (E,) each."""
        left, right = self.compose.sigmoid().repeat(1, self.channels)
        return left, right, self.compose_bias.repeat(self.channels)

    def decomposition(self) -> tuple[Tensor, Tensor]:
        """Return the factors and the biases that make left and right child, (2, E) each."""
        factors = self.decompose.sigmoid().repeat(1, self.channels)
        return factors, self.decompose_bias.repeat(1, self.channels)

    def entangle(
        self, sentences: Sequence[Sentence], *, separate: bool = False
    ) -> tuple[TreeBatch, Entangled, Tensor, Tensor]:
        """Return trees, their distinct nodes, and these up and down, (U, E) each.

        Each node has one dropout mask. With `separate`, sentences share no nodes.
        """
        table, size = self.embedding, self.embedding.shape[1]
        rows = sum(map(len, sentences))
        of_leaves, noise = self.noise((rows, size), 0), self.noise((rows, size), 1)
        batch = TreeBatch.of(self.make_trees(sentences, of_leaves, noise), table.device)
        graph = Entangled.of(batch, separate=separate)
        leaves = functional.embedding(graph.ids, self.embedding)
        count = len(leaves)
        leaves = _drop(leaves, of_leaves, graph.keys[:count])
        noise = None if noise is None else noise[_rows(graph.keys[count:], noise)]
        up = compose_nodes(graph, leaves, self.composition(), noise)
        noise = self.noise((len(graph.left), 2, size), 1)
        down = decompose_nodes(graph, up, *self.decomposition(), noise)
        return batch, graph, up, down

    def both_ways(self, sentences: Sequence[Sentence]) -> BothWays:
        """Return all embeddings, without dropout: sentences do not affect each other."""
        assert not self.training, "training is on the distinct nodes"
        batch, graph, up, down = self.entangle(sentences, separate=True)
        return batch, up[graph.node], down[graph.node]

    @torch.no_grad()
    def make_trees(
        self,
        sentences: Sequence[Sentence],
        of_leaves: Tensor | None = None,
        noise: Tensor | None = None,
    ) -> list[Sentence]:
        """Return the sentences with trees by greedy merging of leaves and nodes with this noise."""
        factors = self.composition()
        text = torch.from_numpy(np.concatenate([each.ids for each in sentences]).astype(np.int64))
        keys = pair_keys(text, torch.zeros_like(text)).to(self.embedding.device)
        leaves = _drop(self.embed_text(sentences), of_leaves, keys)

        def compose(
            left: Tensor, right: Tensor, left_keys: Tensor, right_keys: Tensor
        ) -> tuple[Tensor, Tensor]:
            keys = pair_keys(left_keys, right_keys)
            return _drop(compose_pairs(left, right, *factors), noise, keys), keys

        return merge(sentences, leaves, keys, compose)


def _rows(keys: Tensor, noise: Tensor) -> Tensor:
    """Return the row of noise (rows, E) of each node by its key, known before merging."""
    return keys.remainder(len(noise))


def _drop(vectors: Tensor, noise: Tensor | None, keys: Tensor) -> Tensor:
    return vectors if noise is None else vectors * noise[_rows(keys, noise)]
