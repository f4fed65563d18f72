"""Training of a span parser: each span of a text is a constituent of its tree, or it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from structkit.learning.span_parser.decoding import pieces
from structkit.learning.span_parser.features import Features
from structkit.learning.span_parser.parser import SpanParser
from structkit.learning.span_parser.scorer import SpanScorer, hidden_words
from structkit.learning.training.module import TrainingModule, adamw
from structkit.learning.training.plan import Step
from structkit.learning.training.settings import GradientSettings
from structkit.records.jsonl import Record

Inputs = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]
GROUP = 16  # texts that are padded to one length


class SpanTraining(TrainingModule):
    """Binary cross-entropy over all spans of two words or more but the whole."""

    settings: GradientSettings

    def __init__(
        self,
        settings: GradientSettings,
        scorer: SpanScorer,
        features: Features,
        word_dropout: float,
        negative_share: float = 1.0,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(settings)
        self.scorer, self.features, self.negative_share = scorer, features, negative_share
        self.weight_decay = weight_decay
        rarity = torch.from_numpy(features.rarity(word_dropout))
        self.register_buffer("rarity", rarity, persistent=False)

    def batch(self, records: list[Record], step: Step) -> Inputs:
        """Rows (texts, 4, words + 2), lengths (texts,); of spans: places, whether gold, weight.

        Places are numbered through the texts of the batch, as if their fenceposts were one table.
        Most spans are not constituents: a share of those is drawn, and weighted to count for all.
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
        """The fenceposts (texts * places, span) of all texts, in groups of similar lengths."""
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
        """The summed cross-entropy of all spans, per word."""
        numbers, lengths, left, right, gold, weight = inputs
        if self.training:
            numbers = hidden_words(numbers, self.rarity)  # type: ignore[arg-type]
        places = self.places(numbers, lengths)
        logits = self.scorer.logits(places.index_select(0, left), places.index_select(0, right))
        total = functional.binary_cross_entropy_with_logits(logits, gold, weight, reduction="sum")
        return total / (lengths - 2).sum(), {}

    def optimizer(self) -> torch.optim.Optimizer:
        return adamw(self, self.settings.learning_rate, self.weight_decay)

    def save(self, folder: Path) -> None:
        SpanParser(self.scorer.weights(), self.features).save(folder)

    def facts(self) -> dict[str, Any]:
        return {"words": self.features.sizes()[0]}


def _candidates(words: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First place and last of all spans of two words or more but the whole."""
    left, right = np.triu_indices(words + 1, 2)
    inner = right - left < words
    return left[inner], right[inner]


def parts(record: Record) -> list[tuple[list[str], list[tuple[int, int]]]]:
    """The words and spans of a record, split as parsing will split a text that is too long."""
    cut = []
    for start, end in pieces(record["words"]):
        inside = [
            (low - start, high - start)
            for low, high in record["spans"]
            if start <= low and high <= end and (low, high) != (start, end)
        ]
        cut.append((record["words"][start:end], inside))
    return cut
