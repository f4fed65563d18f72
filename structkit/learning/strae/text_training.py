"""Training and encoding of models that read a text as a sequence of words or pieces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structkit.learning.strae.sentences import portions
from structkit.learning.strae.settings import WordSettings
from structkit.learning.strae.text_models import TextBatch, TextModel
from structkit.learning.strae.training import VocabularyTraining
from structkit.learning.strae.vocabulary import Vocabulary
from structkit.learning.training.losses import vocabulary_loss
from structkit.learning.training.module import TorchModel
from structkit.learning.training.plan import Step
from structkit.records.jsonl import Record
from structkit.structure.trees.tree import Ints


@dataclass(frozen=True)
class TextIds:
    """The ids of a text, and whether they are pieces of one word."""

    ids: Ints
    word: bool = False

    def __len__(self) -> int:
        return len(self.ids)


def padded(texts: Sequence[TextIds], device: torch.device) -> TextBatch:
    """Texts as one batch, as wide as its longest."""
    lengths = np.array([len(text) for text in texts])
    ids = np.zeros((len(texts), lengths.max()), np.int64)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = text.ids
    word = torch.tensor([text.word for text in texts])
    return TextBatch(
        torch.from_numpy(ids).to(device), torch.from_numpy(lengths).to(device), word.to(device)
    )


class TextTraining(VocabularyTraining):
    """Prediction of the tokens that the model chooses, over the vocabulary, by its own table."""

    model: TextModel

    def held_out(self, records: list[Record], step: Step) -> list[TextBatch]:
        settings, vocabulary = self.settings, self.vocabulary
        texts = (settings.numbers(vocabulary.ids(record["words"]), record)[0] for record in records)
        return self.portioned(TextIds(np.array(ids, np.int32)) for ids in texts)

    def batch(self, records: list[Record], step: Step) -> list[TextBatch]:
        return self.portioned(TextIds(self.sentences[index].ids) for index in step.indices)

    def portioned(self, texts: Iterable[TextIds]) -> list[TextBatch]:
        """A batch in portions, sorted by length, so that there is little padding."""
        chosen = sorted(texts, key=len)
        device = next(self.parameters()).device
        return [padded(portion, device) for portion in portions(chosen, self.settings.batch_tokens)]

    def sums(self, inputs: TextBatch) -> tuple[Tensor, int]:
        """The summed cross-entropy of one portion, and its number of tokens."""
        vectors, ids, bias = self.model.learned(inputs, self.settings.embedding_dropout)
        table = self.model.embedding[: len(self.vocabulary)]
        one = torch.ones_like(ids, dtype=vectors.dtype)
        return vocabulary_loss(vectors, table, bias, ids, one), len(ids)

    def loss(self, inputs: list[TextBatch]) -> tuple[Tensor, dict[str, Tensor]]:
        sums = [self.sums(portion) for portion in inputs]
        return torch.stack([total for total, _ in sums]).sum() / sum(count for _, count in sums), {}

    def backward(self, inputs: list[TextBatch]) -> dict[str, float]:
        """Gradients portion by portion, of the mean over all tokens."""
        total, tokens = 0.0, 0
        for portion in inputs:
            summed, count = self.sums(portion)
            summed.backward()  # type: ignore[no-untyped-call]
            total, tokens = total + summed.item(), tokens + count
        for weight in self.parameters():
            if weight.grad is not None:
                weight.grad /= tokens
        return {"loss": total / tokens}

    def facts(self) -> dict[str, Any]:
        return {"normalize": False, "words": len(self.vocabulary)}


class TextEncoder(TorchModel):
    """A trained model for `encode`."""

    def __init__(self, settings: WordSettings, model: TextModel, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.settings = settings
        self.model, self.vocabulary = model, vocabulary
        self.truncation = vocabulary.looked_up

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        return self.model.embedding.device

    def inputs(self, texts: Sequence[str], side: str = "document") -> list[TextIds]:
        """Texts, or the leaves of trees, as numbers; a text without words is one unknown word."""
        numbered = []
        for text in texts:
            words = self.vocabulary.ids(self.settings.words(text)) or [[0]]
            ids = np.array([number for word in words for number in word], np.int32)
            numbered.append(TextIds(ids, word=len(words) == 1))
        return numbered

    def prepared(self, text: str) -> Record:
        return self.settings.prepared(text)

    def batch(self, inputs: Sequence[TextIds]) -> TextBatch:
        """Some inputs, padded."""
        return padded(inputs, self.device)

    def embed(self, batch: TextBatch) -> Tensor:
        """The embeddings of texts, (texts, E)."""
        return self.model.embed(batch)
