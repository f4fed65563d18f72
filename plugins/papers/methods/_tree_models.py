"""The tree models that StrAE is compared with: IORNN and Tree-LSTM, with StrAE's two objectives.

Both embed the words of a batch, go up to the roots and down again. Source: Opper et al. 2023,
"StrAE", section 4 and table 5.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from structkit.learning.strae.batches import TreeBatch, downward, upward
from structkit.learning.strae.sentences import Sentence
from structkit.learning.strae.settings import NodeSettings
from structkit.learning.strae.training import (
    INIT_RANGE,
    BothWays,
    NodeModel,
    TreeEncoder,
    strae_training,
)


class TreeBaseline(NodeModel):
    """A table of embeddings, and states that go up and down, as a subclass defines."""

    make_training = staticmethod(strae_training)
    encoder_class = TreeEncoder

    def __init__(self, words: int, settings: NodeSettings) -> None:
        super().__init__(words, settings)
        size = settings.embedding_size
        self.head = nn.Linear(size, words) if settings.has_own_head else None
        self.build(size)

    def build(self, size: int) -> None:
        """Make all other parameters, for embeddings of this size."""
        raise NotImplementedError

    def both_ways(self, sentences: Sequence[Sentence]) -> BothWays:
        batch = TreeBatch.of(sentences, self.embedding.device)
        leaves = functional.embedding(batch.ids, self.embedding)  # (leaves, E)
        leaves = functional.dropout(leaves, self.dropouts[0], self.training)
        return batch, *self.up_and_down(batch, leaves, self.dropouts[1] if self.training else 0.0)

    def up_and_down(
        self, batch: TreeBatch, leaves: Tensor, dropout: float
    ) -> tuple[Tensor, Tensor]:
        """Return upward and downward embeddings of all nodes, from those of `batch.leaves`."""
        raise NotImplementedError


class IORNN(TreeBaseline):
    """The inside-outside recursive network: a node's outside knows its sibling's inside.

    Inside: tanh([left; right] Φ + φ). Outside: left tanh([parent; inside of right] Θ + θ₁), right
    tanh([parent; inside of left] Θ + θ₂), with one Θ; a root's is a parameter. Without the
    embeddings 2E² + E, 2E² + 2E and E parameters: 40,400 at E = 100, as published.
    Source: Le and Zuidema 2014; StrAE, section 4.
    """

    def build(self, size: int) -> None:
        self.compose = nn.Linear(2 * size, size)
        self.decompose = nn.Linear(2 * size, size, bias=False)
        bound = (2 * size) ** -0.5  # as torch's linear layers begin
        self.biases = nn.Parameter(torch.empty(2, size).uniform_(-bound, bound))
        self.root = nn.Parameter(torch.empty(size).uniform_(-INIT_RANGE, INIT_RANGE))

    def up_and_down(
        self, batch: TreeBatch, leaves: Tensor, dropout: float
    ) -> tuple[Tensor, Tensor]:
        def inside(children: Tensor, inner: slice) -> Tensor:
            made = self.compose(children.flatten(1)).tanh()  # (n, E)
            return functional.dropout(made, dropout)

        up = upward(batch, leaves, inside)

        def outside(parents: Tensor, inner: slice) -> Tensor:
            siblings = batch.children(up, inner).flip(1)  # (n, 2, E)
            both = torch.cat([parents[:, None].expand_as(siblings), siblings], dim=2)
            made = (self.decompose(both) + self.biases).tanh()  # (n, 2, E)
            return functional.dropout(made, dropout)

        roots = self.root.expand(batch.sentences, -1)
        return up, downward(batch, roots, outside)


class TreeLSTM(TreeBaseline):
    """A binary Tree-LSTM, bottom up and top down; its embeddings are the hidden states.

    Up, as Tai et al. 2015 (eq. 9-14): a leaf's gates i, o, u come from its embedding, a node's from
    both hidden states of its children, with a forget gate for each child's cell:
    3E² + 6E² + 3E + 4E² = 13E² + 3E parameters, 130,300 at E = 100. Down: the gates of each child
    come from its parent's hidden state: 6E² + 3E + 2E² = 80,300, with one forget gate a child, for
    the parent's cell. A root's downward state is its upward one.

    That makes 210,600 without the embeddings. Published are 260,600 (table 5): twice 130,300, the
    bottom-up cell counted for both ways. A cell that goes down has no word to read (3E² = 30,000
    fewer) and the one cell of a parent, not two, after its forget gates (2E² = 20,000 fewer).
    """

    def build(self, size: int) -> None:
        self.read = nn.Linear(size, 3 * size, bias=False)
        self.compose = nn.Linear(2 * size, 3 * size, bias=False)
        self.forget = nn.Linear(2 * size, 2 * size, bias=False)
        self.bias = nn.Parameter(torch.zeros(3 * size))
        self.decompose = nn.Linear(size, 6 * size, bias=False)
        self.keep = nn.Linear(size, 2 * size, bias=False)
        self.down_bias = nn.Parameter(torch.zeros(3 * size))

    def up_and_down(
        self, batch: TreeBatch, leaves: Tensor, dropout: float
    ) -> tuple[Tensor, Tensor]:
        size = leaves.shape[1]
        start = lstm_state(self.read(leaves) + self.bias)  # (leaves, 2E): hidden and cell

        def compose(children: Tensor, inner: slice) -> Tensor:
            hidden, cells = children.chunk(2, dim=2)  # (n, 2, E) each
            both = hidden.flatten(1)  # (n, 2E)
            kept = self.forget(both).sigmoid().view_as(cells) * cells
            made = lstm_state(self.compose(both) + self.bias, kept.sum(1))
            return drop_hidden(made, dropout)

        states = upward(batch, start, compose)  # (nodes, 2E)

        def decompose(parents: Tensor, inner: slice) -> Tensor:
            hidden, cells = parents.chunk(2, dim=1)  # (n, E) each
            gates = self.decompose(hidden).view(-1, 2, 3 * size) + self.down_bias
            kept = self.keep(hidden).sigmoid().view(-1, 2, size) * cells[:, None]
            return drop_hidden(lstm_state(gates, kept), dropout)

        down = downward(batch, states[: batch.sentences], decompose)
        return states[:, :size], down[:, :size]


def lstm_state(gates: Tensor, kept: Tensor | None = None) -> Tensor:
    """Return hidden state and cell (…, 2E) from the gates i, o, u (…, 3E) and kept cells (…, E).

    >>> lstm_state(torch.zeros(1, 3)).tolist()  # i = o = 1/2, u = 0
    [[0.0, 0.0]]
    """
    put, out, new = gates.chunk(3, dim=-1)
    cell = put.sigmoid() * new.tanh()
    if kept is not None:
        cell = cell + kept
    return torch.cat([out.sigmoid() * cell.tanh(), cell], dim=-1)


def drop_hidden(states: Tensor, dropout: float) -> Tensor:
    """Return states with dropout on the hidden half, which others see; cells stay whole."""
    if not dropout:
        return states
    hidden, cells = states.chunk(2, dim=-1)
    return torch.cat([functional.dropout(hidden, dropout), cells], dim=-1)
