"""fastText's word vectors: a word is the mean of its own row and its character n-grams' rows.

Source: Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information"
(https://aclanthology.org/Q17-1010).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from structkit.learning.folders import WEIGHTS_FILE, damage_error, read_weights, write_weights
from structkit.learning.strae.vocabulary import Coverage, Vocabulary
from structkit.learning.training.devices import TorchModel
from structkit.learning.training.trainer import TrainingModule
from structkit.records.jsonl import Record

from ._ngrams import buckets_of

Bag = list[list[int]]  # the rows of each word of a text


class WordVectors(TorchModel):
    """A table of words, and of the buckets that words of the vocabulary use.

    `table` is (words + buckets, dim); `buckets` has the number of each of its buckets. A word
    outside the vocabulary is the mean of the buckets that are known (fastText would mix in rows
    that were never trained); if no bucket is known, it is ignored.
    """

    def __init__(
        self, settings: Any, words: Sequence[str], table: Tensor, buckets: Sequence[int]
    ) -> None:
        super().__init__()
        self.settings = settings
        self.words, self.buckets = list(words), list(buckets)
        self.table = nn.Parameter(table)
        self.truncation = self.coverage = Coverage(
            "share no n-gram with the training words and are ignored"
        )
        self._word = {word: row for row, word in enumerate(self.words)}
        self._bucket = {bucket: len(words) + row for row, bucket in enumerate(self.buckets)}
        self._rows: dict[str, list[int]] = {}

    def rows(self, word: str) -> list[int]:
        """Return the rows whose mean is the word's vector: its own and its n-grams'."""
        if word not in self._rows:
            own, buckets = self._word.get(word), buckets_of(word, self.settings.buckets)
            rows = [own, *map(self._bucket.get, buckets)]
            self._rows[word] = [row for row in rows if row is not None]
        return self._rows[word]

    def inputs(self, texts: Sequence[str], side: str) -> list[Bag]:
        """Return texts, or the leaves of trees, each as the rows of its words."""
        return [self.bag(self.prepared(text)["words"]) for text in texts]

    def prepared(self, text: str) -> Record:
        words: Record = self.settings.prepared(text)
        return words

    def bag(self, words: Sequence[str]) -> Bag:
        """Return the rows of the words that have some."""
        of_words = [rows for word in words if (rows := self.rows(word.lower()))]
        self.coverage.add("words", len(words), len(words) - len(of_words))
        return of_words

    def batch(self, inputs: Sequence[Bag]) -> tuple[Tensor, Tensor, Tensor]:
        """Return rows and weights of all texts in sequence, and the start of each.

        The weights make the sum of a text's rows the mean of its words' means.
        """
        rows: list[int] = []
        weights: list[float] = []
        starts = []
        for bag in inputs:
            starts.append(len(rows))
            for word in bag:
                rows += word
                weights += [1 / (len(bag) * len(word))] * len(word)
        places, first = (
            torch.tensor(each, dtype=torch.int64, device=self.device) for each in (rows, starts)
        )
        return places, torch.tensor(weights, device=self.device), first

    def embed(self, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """Return the embeddings (texts, dim); a text without a known word is all zeros."""
        rows, weights, offsets = batch
        return functional.embedding_bag(
            rows, self.table, offsets, mode="sum", per_sample_weights=weights.to(self.table)
        )

    def save(self, folder: Path) -> None:
        """Write the words, the table and the buckets' numbers."""
        Vocabulary(self.words).save(folder)
        table = self.table.detach().cpu().numpy()
        write_weights(folder, {"table": table, "buckets": np.array(self.buckets, np.int64)})

    @classmethod
    def load(cls, settings: Any, folder: Path) -> Self:
        """Load what `save` wrote. Errors: `UserError` if a file is missing or damaged."""
        words, stored = Vocabulary.load(folder).words, read_weights(folder)
        table, buckets = stored.get("table"), stored.get("buckets")
        if (
            table is None
            or buckets is None
            or (table.ndim, buckets.ndim) != (2, 1)
            or len(table) != len(words) + len(buckets)
        ):
            raise damage_error(
                "its rows do not match the vocabulary and the buckets", folder / WEIGHTS_FILE
            )
        return cls(settings, words, torch.from_numpy(table).float(), buckets.tolist())


class FastTextTraining(TrainingModule):
    """Word vectors as the library trained them: there are no steps here."""

    def __init__(self, settings: Any, model: WordVectors, seen: int) -> None:
        super().__init__(settings)
        self.model, self.seen = model, seen

    def save(self, folder: Path) -> None:
        self.model.save(folder)

    def metadata(self) -> Record:
        rows = len(self.model.table)
        return {"normalize": False, "words": len(self.model.words), "rows": rows}
