"""Training and encoding with a vocabulary, in portions of bounded size; the objectives of StrAE."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from structkit.learning.strae.batches import TreeBatch
from structkit.learning.strae.losses import contrastive_loss, drawn_words
from structkit.learning.strae.model import NodeModel
from structkit.learning.strae.sentences import Sentence, Sentences, portions
from structkit.learning.strae.settings import ComposedSettings, NodeSettings, VocabularySettings
from structkit.learning.strae.vocabulary import Vocabulary
from structkit.learning.training.autograd import vocabulary_loss
from structkit.learning.training.devices import joined, share, summed
from structkit.learning.training.module import TorchModel, TrainingModule, fill, save_state
from structkit.learning.training.settings import Step
from structkit.learning.training.spool import Spool
from structkit.records.jsonl import Record


class VocabularyTraining(TrainingModule):
    """Training of a model over a vocabulary, on sentences as numbers."""

    settings: VocabularySettings
    model: nn.Module

    def __init__(
        self,
        settings: VocabularySettings,
        model: nn.Module,
        vocabulary: Vocabulary,
        sentences: Sentences,
    ) -> None:
        super().__init__(settings)
        self.model, self.vocabulary, self.sentences = model, vocabulary, sentences
        self.truncation = vocabulary.looked_up

    @classmethod
    def of(cls, settings: VocabularySettings, spool: Spool) -> Self:
        """The training of a new model on prepared records."""
        vocabulary, sentences = settings.corpus(spool)
        return cls(settings, settings.untrained(len(vocabulary)), vocabulary, sentences)

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        return next(self.parameters()).device

    def held_out(self, records: list[Record], step: Step) -> Any:
        numbers, ids_of = self.settings.numbers, self.vocabulary.ids
        return self.in_portions(
            [*Sentences(numbers(ids_of(each["words"]), each) for each in records)]
        )

    def batch(self, records: list[Record], step: Step) -> Any:
        return self.in_portions([self.sentences[index] for index in step.indices])

    def in_portions(self, sentences: list[Sentence]) -> Any:
        """A batch in portions that fit in memory."""
        return portions(sentences, self.settings.batch_tokens)

    def optimizer(self) -> torch.optim.Optimizer:
        """Adam, in one kernel."""
        return torch.optim.Adam(self.parameters(), lr=self.settings.learning_rate, fused=True)

    def save(self, folder: Path) -> None:
        save_state(self.model, folder)
        self.vocabulary.save(folder)


class VocabularyEncoder(TorchModel):
    """A trained model over a vocabulary, for `encode`."""

    settings: VocabularySettings

    def __init__(
        self, settings: VocabularySettings, model: nn.Module, vocabulary: Vocabulary
    ) -> None:
        super().__init__()
        self.settings, self.model, self.vocabulary = settings, model, vocabulary
        self.truncation = vocabulary.looked_up

    @classmethod
    def read(cls, folder: Path, settings: VocabularySettings, facts: Record) -> Self:
        """The model in a folder. Errors: `UserError` where it is damaged."""
        vocabulary = Vocabulary.load(folder)
        model = settings.untrained(len(vocabulary))
        fill(model, folder)
        return cls(settings, model, vocabulary)

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        return next(self.parameters()).device

    def prepared(self, text: str) -> Record:
        return self.settings.prepared(text)


class TreeTraining(VocabularyTraining):
    """Training on given trees, or on those that the model makes itself."""

    settings: ComposedSettings
    model: NodeModel

    @classmethod
    def of(cls, settings: VocabularySettings, spool: Spool) -> Self:
        training = super().of(settings, spool)
        training.model.start(training.settings, training.vocabulary.words)
        return training

    def losses(self, sentences: list[Sentence]) -> dict[str, Tensor]:
        """The parts of the objective, each a mean over one portion."""
        raise NotImplementedError

    def counts(self, sentences: list[Sentence]) -> dict[str, int]:
        """The number of terms in the mean of each part of the objective."""
        raise NotImplementedError

    def shared_losses(self, inputs: list[list[Sentence]]) -> Iterator[dict[str, Tensor]]:
        """The parts of the objective, portion by portion; they sum up to those of the batch."""
        counts = [self.counts(sentences) for sentences in inputs]
        for sentences, count in zip(inputs, counts, strict=True):
            yield {
                name: part * (count[name] / max(1, sum(each[name] for each in counts)))
                for name, part in self.losses(sentences).items()
            }

    def backward(self, inputs: list[list[Sentence]]) -> dict[str, float]:
        """Gradients portion by portion, so that only the graph of one is in memory."""
        sums: Counter[str] = Counter()
        for parts in self.shared_losses(inputs):
            torch.stack(list(parts.values())).mean().backward()  # type: ignore[no-untyped-call]
            sums.update({name: part.item() for name, part in parts.items()})
        return {"loss": sum(sums.values()) / len(sums), **(sums if len(sums) > 1 else {})}

    def facts(self) -> dict[str, Any]:
        return {"pooling": "root", "words": len(self.vocabulary)}


class StraeTraining(TreeTraining):
    """Training with StrAE's objectives."""

    settings: NodeSettings

    def losses(self, sentences: list[Sentence]) -> dict[str, Tensor]:
        """The parts of the objective, each a mean over one portion, which processes share."""
        settings = self.settings
        own = share(len(sentences))
        chosen, first, total = sentences[own], sentences[: own.start], self.counts(sentences)
        batch = None
        up = down = self.model.embedding[:0]
        if chosen:
            batch, up, down = self.model.both_ways(chosen, settings.dropouts)
        parts = {}
        if settings.objective != "ce":
            before = self.counts(first)["contrastive"]
            parts["contrastive"] = self.contrastive(batch, up, down, before, total["contrastive"])
        if settings.objective != "contrastive":
            words = self.draw_words(sentences)
            parts["ce"] = summed(self.cross_entropy(batch, down, total["ce"], words))
        if not chosen:  # the others need this process in every exchange
            learned = next(weight for weight in self.parameters() if weight.requires_grad)
            parts = {name: part + 0 * learned.sum() for name, part in parts.items()}
        return parts

    def contrastive(
        self, batch: TreeBatch | None, up: Tensor, down: Tensor, first: int, total: int
    ) -> Tensor:
        """Equation 2 over all nodes, or over the inner ones where leaves have their own loss.

        The nodes of all processes are negatives: `total`, of which this one's begin at `first`.
        """
        masked = self.settings.mask_duplicates
        same = up.new_zeros(0, dtype=torch.int64)
        if batch is not None:
            same = batch.same if masked else same
            chosen = batch.inner if self.settings.objective == "both" else batch.in_trees
            if chosen is not None:
                up, down = up[chosen], down[chosen]
                same = same[chosen] if masked else same
        if not total:
            return up.sum()  # no sentence has two words: nothing to contrast
        up, down = joined(up, first, total), joined(down, first, total)
        equal = joined(same[:, None], first, total)[:, 0] if masked else None
        return contrastive_loss(up, down, self.settings.scale, equal)

    def draw_words(self, sentences: list[Sentence]) -> tuple[Tensor, Tensor] | None:
        """The words that a training step compares, and what their scores get; None for all."""
        settings = self.settings
        if not (settings.ce_samples and self.training):
            return None
        ids = np.concatenate([sentence.ids for sentence in sentences])
        words = len(self.model.embedding)
        chosen, excess = drawn_words(ids, words, settings.ce_samples, settings.seed)
        return torch.from_numpy(chosen).to(self.device), torch.from_numpy(excess).to(self.device)

    def cross_entropy(
        self,
        batch: TreeBatch | None,
        down: Tensor,
        count: int,
        words: tuple[Tensor, Tensor] | None = None,
    ) -> Tensor:
        """Equation 1 over the leaves of this process; `count` is of all sentences, or leaves."""
        if batch is None:
            return down.sum()
        head = self.model.head
        table: Tensor = self.model.embedding if head is None else head.weight
        bias: Tensor | None = None if head is None else head.bias
        targets = batch.ids
        if words is not None:
            chosen, excess = words
            table = table.index_select(0, chosen)
            bias = excess.to(table) if bias is None else excess + bias.index_select(0, chosen)
            targets = torch.searchsorted(chosen, targets)
        lengths = torch.from_numpy(batch.lengths).to(down)  # (sentences,)
        if self.settings.mean == "sentence":
            weights = 1 / (count * lengths[batch.sentence[batch.leaves]])  # (leaves,)
        else:
            weights = torch.full_like(batch.ids, 1 / count, dtype=down.dtype)
        return vocabulary_loss(down[batch.leaves], table, bias, targets, weights)

    def counts(self, sentences: list[Sentence]) -> dict[str, int]:
        """The number of terms in the mean of each part of the objective."""
        lengths = [len(sentence) for sentence in sentences]
        inner, leaves = sum(lengths) - len(lengths), sum(lengths)
        single = lengths.count(1)
        return {
            "contrastive": inner if self.settings.objective == "both" else inner + leaves - single,
            "ce": len(lengths) if self.settings.mean == "sentence" else leaves,
        }
