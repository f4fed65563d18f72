"""The scores of spans in training: differences of a bidirectional LSTM's states, to one number.

Source of the design: minimal span-based parsing, Stern et al. 2017 (https://aclanthology.org/P17-1076).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from structkit.learning.span_parser.features import UNKNOWN, Sizes
from structkit.learning.span_parser.forward import Weights


class SpanScorer(nn.Module):
    """Scores of all spans of a text; a positive one means that the words are a constituent.

    `forward.Scores` computes the same without torch.
    """

    def __init__(self, rows: Sequence[int], sizes: Sizes, dropout: float = 0.0) -> None:
        super().__init__()
        columns = (sizes.word, sizes.suffix, sizes.suffix, sizes.shape)
        self.tables = nn.ModuleList(
            nn.Embedding(count, width) for count, width in zip(rows, columns, strict=True)
        )
        for weight in self.tables.parameters():
            nn.init.normal_(weight, std=0.3)
        widths = [sum(columns), *[2 * sizes.hidden] * (sizes.layers - 1)]
        # one module per layer and direction: packed sequences, which torch needs to reverse
        # padded ones, have a backward pass that grows with the square of the length
        self.forwards, self.backwards = (
            nn.ModuleList(nn.LSTM(width, sizes.hidden, batch_first=True) for width in widths)
            for _ in range(2)
        )
        self.project = nn.Linear(2 * sizes.hidden, sizes.span)
        self.score = nn.Linear(sizes.span, 1)
        self.dropout = nn.Dropout(dropout)

    def embedded(self, numbers: Tensor) -> Tensor:
        """The words (texts, words + 2, columns) of their rows (texts, 4, words + 2)."""
        columns = [table(numbers[:, kind]) for kind, table in enumerate(self.tables)]
        return torch.cat(columns, dim=-1)

    def states(self, numbers: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The states (texts, words + 2, hidden) after each word, read forward and backward."""
        states = self.embedded(numbers)
        for ahead, back in zip(self.forwards, self.backwards, strict=True):
            states = self.dropout(states)
            forward = ahead(states)[0]
            backward = turned(back(turned(states, lengths))[0], lengths)
            states = torch.cat([forward, backward], dim=-1)
        forward, backward = self.dropout(states).chunk(2, dim=-1)
        return forward, backward

    def fenceposts(self, numbers: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The places between words (texts, words + 1, span), as the span layer sees them.

        `lengths` (texts,) is the number of words of each, ends included; None: all are equal.
        A span's features are a difference of two places: their product with the weights is made
        here, once per place instead of once per span.
        """
        forward, backward = self.states(numbers, lengths)
        places = torch.cat([forward[:, :-1], -backward[:, 1:]], dim=-1)
        return functional.linear(places, self.project.weight)

    def logits(self, left: Tensor, right: Tensor) -> Tensor:
        """The scores of spans between two places (…, span) each: (…)."""
        hidden = torch.relu(right - left + self.project.bias)
        return functional.linear(hidden, self.score.weight, self.score.bias)[..., 0]

    def weights(self) -> Weights:
        """All weights by name."""
        return {name: each.detach().cpu().numpy() for name, each in self.state_dict().items()}


def turned(states: Tensor, lengths: Tensor | None) -> Tensor:
    """The states (texts, words, columns) of each text from its last word to its first.

    Padding after a text stays where it is.
    """
    if lengths is None:
        return states.flip(1)
    steps = torch.arange(states.shape[1], device=states.device)
    back = lengths[:, None] - 1 - steps
    order = torch.where(back >= 0, back, steps)[..., None]  # (texts, words, 1)
    return states.gather(1, order.expand_as(states))


def hidden_words(numbers: Tensor, rarity: Tensor) -> Tensor:
    """The rows (texts, 4, words) with rare words hidden at random: they become the unknown one."""
    words = numbers[:, 0]
    hide = torch.rand(words.shape, device=words.device) < rarity[words]
    return torch.cat([words.masked_fill(hide, UNKNOWN)[:, None], numbers[:, 1:]], dim=1)
