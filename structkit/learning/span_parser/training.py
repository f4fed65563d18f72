"""Training of a span parser: each span of a text is a constituent of its tree, or it is not.

Spans are scored by differences of a bidirectional LSTM's states. Source of the design: minimal
span-based parsing, Stern et al. 2017 (https://aclanthology.org/P17-1076).

Tests: tests/learning/span_parser/test_span_parser.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from structkit.learning.span_parser.features import UNKNOWN, Features, Sizes
from structkit.learning.span_parser.parser import SpanParser, Weights, pieces
from structkit.learning.training.data import Step
from structkit.learning.training.method import GradientSettings
from structkit.learning.training.trainer import TrainingModule
from structkit.records.jsonl import Record

Inputs = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]
GROUP = 16  # texts that are padded to one length
# a word that occurs c times is hidden W / (W + c) of the time, to learn unknown words
WORD_DROPOUT = 0.8


class SpanScorer(nn.Module):
    """Scores of all spans of a text; a positive one means that the words are a constituent.

    `parser.SpanScores` computes the same without torch.
    """

    def __init__(self, rows: Sequence[int], sizes: Sizes) -> None:
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
        self.dropout = nn.Dropout(sizes.dropout)

    def states(self, numbers: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return states (texts, words + 2, hidden) after each word, forward and backward.

        `numbers` (texts, 4, words + 2) are the rows of the words' features.
        """
        columns = [table(numbers[:, kind]) for kind, table in enumerate(self.tables)]
        states = torch.cat(columns, dim=-1)
        for ahead, back in zip(self.forwards, self.backwards, strict=True):
            states = self.dropout(states)
            forward = ahead(states)[0]
            backward = reverse(back(reverse(states, lengths))[0], lengths)
            states = torch.cat([forward, backward], dim=-1)
        forward, backward = self.dropout(states).chunk(2, dim=-1)
        return forward, backward

    def fenceposts(self, numbers: Tensor, lengths: Tensor) -> Tensor:
        """Return the places between words (texts, words + 1, span), as the span layer sees them.

        `lengths` (texts,) is the number of words of each, ends included. A span's features are a
        difference of two places: their product with the weights is made here, once per place
        instead of once per span.
        """
        forward, backward = self.states(numbers, lengths)
        places = torch.cat([forward[:, :-1], -backward[:, 1:]], dim=-1)
        return functional.linear(places, self.project.weight)

    def logits(self, left: Tensor, right: Tensor) -> Tensor:
        """Return the scores of spans between two places (…, span) each: (…)."""
        hidden = torch.relu(right - left + self.project.bias)
        return functional.linear(hidden, self.score.weight, self.score.bias)[..., 0]

    def weights(self) -> Weights:
        """Return all weights by name."""
        return {name: each.detach().cpu().numpy() for name, each in self.state_dict().items()}


def reverse(states: Tensor, lengths: Tensor) -> Tensor:
    """Return the states (texts, words, columns) of each text from its last word to its first.

    Padding after a text stays in place.
    """
    steps = torch.arange(states.shape[1], device=states.device)
    back = lengths[:, None] - 1 - steps
    order = torch.where(back >= 0, back, steps)[..., None]  # (texts, words, 1)
    return states.gather(1, order.expand_as(states))


def hide_words(numbers: Tensor, rarity: Tensor) -> Tensor:
    """Return the rows (texts, 4, words) with rare words replaced at random by the unknown one."""
    words = numbers[:, 0]
    hide = torch.rand(words.shape, device=words.device) < rarity[words]
    return torch.cat([words.masked_fill(hide, UNKNOWN)[:, None], numbers[:, 1:]], dim=1)


class SpanTraining(TrainingModule):
    """Binary cross-entropy over all spans of two words or more but the whole."""

    settings: GradientSettings

    # share of the spans without constituents that a step draws, weighted to count for all
    negative_share = 0.25

    def __init__(self, settings: GradientSettings, scorer: SpanScorer, features: Features) -> None:
        super().__init__(settings)
        self.scorer, self.features = scorer, features
        rarity = torch.from_numpy(features.rarity(WORD_DROPOUT))
        self.register_buffer("rarity", rarity, persistent=False)

    def batch(self, records: list[Record], step: Step) -> Inputs:
        """Return rows (texts, 4, words + 2), lengths (texts,), and spans to learn.

        Places are numbered through the texts of the batch, as if their fenceposts were one table.
        Few spans are constituents: a share of the others is drawn, and weighted to count for all.
        """
        texts = [part for record in records for part in parts(record)]
        texts.sort(key=lambda text: len(text[0]))
        rows = [self.features.numbers(words) for words, _ in texts]
        longest = rows[-1].shape[1]
        numbers = np.zeros((len(rows), len(rows[0]), longest), np.int64)
        candidates = []  # left and right places of spans, and whether they are gold
        for text, (row, (words, spans)) in enumerate(zip(rows, texts, strict=True)):
            numbers[text, :, : row.shape[1]] = row
            left, right = _candidates(len(words))
            constituent = np.zeros((len(words) + 1, len(words) + 1), np.float32)
            if spans:
                constituent[tuple(np.array(spans).T)] = 1
            first = text * (longest - 1)
            candidates.append((left + first, right + first, constituent[left, right]))
        device = self.scorer.score.weight.device
        left_places, right_places, gold = (
            torch.from_numpy(np.concatenate(each)) for each in zip(*candidates, strict=True)
        )
        kept = (gold > 0) | (torch.rand(gold.shape) < self.negative_share)
        weight = torch.where(gold > 0, 1.0, 1 / self.negative_share)
        return (
            torch.from_numpy(numbers).to(device),
            torch.tensor([row.shape[1] for row in rows], device=device),
            left_places[kept].to(device),
            right_places[kept].to(device),
            gold[kept].to(device),
            weight[kept].to(device),
        )

    def places(self, numbers: Tensor, lengths: Tensor) -> Tensor:
        """Return the fenceposts (texts * places, span), by groups of similar lengths."""
        longest = numbers.shape[2]
        groups = []
        for rows, some in zip(
            torch.split(numbers, GROUP), torch.split(lengths, GROUP), strict=True
        ):
            width = int(some.max())
            places = self.scorer.fenceposts(rows[:, :, :width], some)
            groups.append(functional.pad(places, (0, 0, 0, longest - width)))
        return torch.cat(groups).flatten(0, 1)

    def loss(self, inputs: Inputs) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the summed cross-entropy of all spans, per word."""
        numbers, lengths, left, right, gold, weight = inputs
        if self.training:
            numbers = hide_words(numbers, self.rarity)  # type: ignore[arg-type]
        places = self.places(numbers, lengths)
        logits = self.scorer.logits(places.index_select(0, left), places.index_select(0, right))
        total = functional.binary_cross_entropy_with_logits(logits, gold, weight, reduction="sum")
        return total / (lengths - 2).sum(), {}

    def save(self, folder: Path) -> None:
        SpanParser(self.scorer.weights(), self.features).save(folder)

    def metadata(self) -> dict[str, Any]:
        return {"words": self.features.sizes()[0]}


def _candidates(words: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return first and last place of all spans of two words or more but the whole."""
    left, right = np.triu_indices(words + 1, 2)
    inner = right - left < words
    return left[inner], right[inner]


def parts(record: Record) -> list[tuple[list[str], list[tuple[int, int]]]]:
    """Return the words and spans of a record, split as parsing splits a text that is too long."""
    cut = []
    for start, end in pieces(record["words"]):
        inside = [
            (low - start, high - start)
            for low, high in record["spans"]
            if start <= low and high <= end and (low, high) != (start, end)
        ]
        cut.append((record["words"][start:end], inside))
    return cut
