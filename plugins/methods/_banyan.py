"""Banyan's model: diagonal composition and decomposition over entangled trees, and its training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from structkit.learning.strae.batches import TreeBatch
from structkit.learning.strae.greedy_merge import induced
from structkit.learning.strae.model import NodeModel, dropout_noise
from structkit.learning.strae.sentences import Sentence
from structkit.learning.strae.training import TreeTraining
from structkit.learning.training.losses import vocabulary_loss

from ._entangled import Downward, Entangled, Upward, composed, joined


class Banyan(NodeModel):
    """A table of embeddings, seven vectors of one channel's size, and a linear head."""

    head: nn.Linear

    def __init__(self, words: int, size: int, channels: int, init_range: float) -> None:
        super().__init__()
        self.channels, columns = channels, size // channels
        self.embedding = nn.Parameter(torch.empty(words, size).uniform_(-init_range, init_range))
        # of left and right child; σ(0.6 … 0.9) is 0.65 … 0.71
        self.compose = nn.Parameter(torch.empty(2, columns).uniform_(0.6, 0.9))
        self.compose_bias = nn.Parameter(torch.zeros(columns))
        self.decompose = nn.Parameter(torch.empty(2, columns).uniform_(0.6, 0.9))
        self.decompose_bias = nn.Parameter(torch.zeros(2, columns))
        self.head = nn.Linear(size, words)

    def composition(self) -> tuple[Tensor, Tensor, Tensor]:
        """The factors of left and right child and the bias, for whole embeddings, (E,) each."""
        left, right = self.compose.sigmoid().repeat(1, self.channels)
        return left, right, self.compose_bias.repeat(self.channels)

    def decomposition(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The factors and the biases that make left and right child, (E,) each."""
        factors = self.decompose.sigmoid().repeat(1, self.channels)
        return *factors, *self.decompose_bias.repeat(1, self.channels)

    def entangled(
        self,
        sentences: Sequence[Sentence],
        embedding_dropout: float = 0.0,
        composition_dropout: float = 0.0,
        *,
        apart: bool = False,
    ) -> tuple[TreeBatch, Entangled, Tensor, Tensor]:
        """The trees of sentences, their distinct nodes, and these up and down, (U, E) each.

        Each node has one dropout mask. With `apart`, sentences share no nodes.
        """
        table, size = self.embedding, self.embedding.shape[1]
        rows = sum(map(len, sentences))
        of_leaves, noise = (
            dropout_noise((rows, size), each if self.training else 0.0, table)
            for each in (embedding_dropout, composition_dropout)
        )
        batch = TreeBatch.of(self._merged(sentences, of_leaves, noise), table.device)
        graph = Entangled.of(batch, apart=apart)
        leaves = functional.embedding(graph.ids, self.embedding)
        count = len(leaves)
        leaves = _dropped(leaves, of_leaves, graph.keys[:count])
        noise = None if noise is None else noise[_rows(graph.keys[count:], noise)]
        up: Tensor = Upward.apply(leaves, *self.composition(), noise, graph)  # type: ignore[no-untyped-call]
        dropout = composition_dropout if self.training else 0.0
        noise = dropout_noise((len(graph.left), 2, size), dropout, up)
        down: Tensor = Downward.apply(up, *self.decomposition(), noise, graph)  # type: ignore[no-untyped-call]
        return batch, graph, up, down

    def both_ways(
        self,
        sentences: Sequence[Sentence],
        embedding_dropout: float = 0.0,
        composition_dropout: float = 0.0,
        *,
        induce: bool = True,
    ) -> tuple[TreeBatch, Tensor, Tensor]:
        """As above, without dropout: a sentence's nodes do not depend on the other sentences."""
        assert induce and not self.training, "training is on the distinct nodes"
        batch, graph, up, down = self.entangled(sentences, apart=True)
        return batch, up[graph.node], down[graph.node]

    def induced(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """The sentences with the trees of greedy merging."""
        return self._merged(sentences)

    @torch.no_grad()
    def _merged(
        self,
        sentences: Sequence[Sentence],
        of_leaves: Tensor | None = None,
        noise: Tensor | None = None,
    ) -> list[Sentence]:
        factors = self.composition()
        text = torch.from_numpy(np.concatenate([each.ids for each in sentences]).astype(np.int64))
        keys = joined(text, torch.zeros_like(text)).to(self.embedding.device)
        leaves = _dropped(self.embed_text(sentences), of_leaves, keys)

        def compose(
            left: Tensor, right: Tensor, left_keys: Tensor, right_keys: Tensor
        ) -> tuple[Tensor, Tensor]:
            keys = joined(left_keys, right_keys)
            return _dropped(composed(left, right, *factors), noise, keys), keys

        return induced(sentences, leaves, keys, compose)


def _rows(keys: Tensor, noise: Tensor) -> Tensor:
    """The row of noise (rows, E) of each node: by its key, so that merging knows it beforehand."""
    return keys.remainder(len(noise))


def _dropped(vectors: Tensor, noise: Tensor | None, keys: Tensor) -> Tensor:
    return vectors if noise is None else vectors * noise[_rows(keys, noise)]


class BanyanTraining(TreeTraining):
    """Training on the trees that the model makes: cross-entropy at the distinct tokens."""

    model: Banyan

    def losses(self, sentences: list[Sentence]) -> dict[str, Tensor]:
        """The mean over the distinct tokens of one portion."""
        settings = self.settings
        dropouts = settings.embedding_dropout, settings.composition_dropout
        _, graph, _, down = self.model.entangled(sentences, *dropouts)
        tokens, head = len(graph.ids), self.model.head
        weights = down.new_full((tokens,), 1 / tokens)
        return {"ce": vocabulary_loss(down[:tokens], head.weight, head.bias, graph.ids, weights)}

    def counts(self, sentences: list[Sentence]) -> dict[str, int]:
        """How many distinct tokens there are."""
        return {"ce": len(np.unique(np.concatenate([sentence.ids for sentence in sentences])))}
