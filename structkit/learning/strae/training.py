"""Training over trees: batches in passes of bounded size, and the objectives of StrAE.

A method gives `both_ways` (and may change `head`); the losses, the vocabulary, the optimizer and
the folder are the same for all.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from structkit.learning.strae.batches import Sentence, Sentences, TreeBatch, passes
from structkit.learning.strae.losses import contrastive_loss, vocabulary_loss
from structkit.learning.strae.model import StrAE
from structkit.learning.strae.settings import TreeSettings
from structkit.learning.strae.vocabulary import Vocabulary
from structkit.learning.training.module import TrainingModule
from structkit.learning.training.plan import Step
from structkit.learning.training.weights import write_weights
from structkit.records.jsonl import Record


class TreeTraining(TrainingModule):
    """The base of methods whose nodes have an upward and a downward embedding."""

    settings: TreeSettings

    def __init__(
        self,
        settings: TreeSettings,
        model: torch.nn.Module,
        vocabulary: Vocabulary,
        sentences: Sentences,
    ) -> None:
        super().__init__(settings)
        self.model, self.vocabulary, self.sentences = model, vocabulary, sentences
        self.truncation = vocabulary.found

    def both_ways(self, sentences: list[Sentence]) -> tuple[TreeBatch, Tensor, Tensor]:
        """The trees of some sentences, and the embeddings of their nodes, upward and downward."""
        raise NotImplementedError

    def head(self) -> tuple[Tensor, Tensor | None]:
        """The table (words, E) and the bias that score every word of the vocabulary."""
        raise NotImplementedError

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        return next(self.parameters()).device

    def batch(self, records: list[Record], step: Step) -> list[list[Sentence]]:
        chosen = [self.sentences[index] for index in step.indices]
        return passes(chosen, self.settings.batch_tokens)

    def losses(self, sentences: list[Sentence]) -> dict[str, Tensor]:
        """The parts of the objective, each a mean over the sentences of one pass."""
        objective = self.settings.objective
        batch, up, down = self.both_ways(sentences)
        found = {}
        if objective != "ce":
            found["contrastive"] = self.contrastive(batch, up, down)
        if objective != "contrastive":
            found["ce"] = self.cross_entropy(batch, down)
        return found

    def contrastive(self, batch: TreeBatch, up: Tensor, down: Tensor) -> Tensor:
        """Equation 2 over all nodes, or over the inner ones where leaves have their own loss."""
        settings = self.settings
        same = batch.same if settings.mask_duplicates else None
        chosen = batch.inner if settings.objective == "both" else batch.in_trees
        if chosen is not None:
            up, down = up[chosen], down[chosen]
            same = None if same is None else same[chosen]
        if not len(up):
            return up.sum()  # no sentence has two words: nothing to contrast
        return contrastive_loss(up, down, settings.scale, same)

    def cross_entropy(self, batch: TreeBatch, down: Tensor) -> Tensor:
        """Equation 1 over the leaves."""
        table, bias = self.head()
        lengths = torch.from_numpy(batch.lengths).to(down)  # (sentences,)
        if self.settings.mean == "sentence":
            weights = 1 / (len(lengths) * lengths[batch.sentence[batch.leaves]])  # (leaves,)
        else:
            weights = torch.full_like(batch.ids, 1 / len(batch.ids), dtype=down.dtype)
        return vocabulary_loss(down[batch.leaves], table, bias, batch.ids, weights)

    def counts(self, sentences: list[Sentence]) -> dict[str, int]:
        """How many things each part of the objective is the mean of."""
        lengths = [len(sentence) for sentence in sentences]
        inner, leaves = sum(lengths) - len(lengths), sum(lengths)
        single = lengths.count(1)
        return {
            "contrastive": inner if self.settings.objective == "both" else inner + leaves - single,
            "ce": len(lengths) if self.settings.mean == "sentence" else leaves,
        }

    def loss(self, inputs: list[Sentence]) -> tuple[Tensor, dict[str, Tensor]]:
        parts = self.losses(inputs)
        total = torch.stack(list(parts.values())).mean()
        return total, parts if len(parts) > 1 else {}

    def backward(self, inputs: list[list[Sentence]]) -> dict[str, float]:
        """Gradients pass by pass: each counts as much as its share of nodes or sentences."""
        counts = [self.counts(sentences) for sentences in inputs]
        found: Counter[str] = Counter()
        for sentences, count in zip(inputs, counts, strict=True):
            parts = self.losses(sentences)
            for name in parts:
                parts[name] = parts[name] * (
                    count[name] / max(1, sum(each[name] for each in counts))
                )
            loss = torch.stack(list(parts.values())).mean()
            loss.backward()  # type: ignore[no-untyped-call]
            found.update({name: part.item() for name, part in parts.items()})
        whole = sum(found.values()) / len(found)
        return {"loss": whole, **(found if len(found) > 1 else {})}

    def optimizer(self) -> torch.optim.Optimizer:
        """Adam, in one kernel: the table of embeddings is most of what it moves."""
        return torch.optim.Adam(self.parameters(), lr=self.settings.learning_rate, fused=True)

    def save(self, folder: Path) -> None:
        write_weights(folder, self.model.state_dict())
        self.vocabulary.save(folder)

    def facts(self) -> dict[str, Any]:
        return {"pooling": "root", "words": len(self.vocabulary)}


class StraeTraining(TreeTraining):
    """StrAE on given trees, or on those that it induces itself."""

    model: StrAE

    def both_ways(self, sentences: list[Sentence]) -> tuple[TreeBatch, Tensor, Tensor]:
        settings = self.settings
        dropouts = settings.embedding_dropout, settings.composition_dropout
        return self.model.both_ways(sentences, *dropouts, induce=settings.induce)

    def head(self) -> tuple[Tensor, Tensor | None]:
        head = self.model.head
        return (self.model.embedding, None) if head is None else (head.weight, head.bias)
