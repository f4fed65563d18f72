"""One encoder for queries and documents, trained on pairs: what contrastive methods share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

import torch
from torch import Tensor

from structkit.errors import UserError, flag
from structkit.learning.encoders.encoder import Encoder, save_encoder
from structkit.learning.encoders.grad_cache import B, Texts, backward
from structkit.learning.encoders.losses import duplicates, info_nce
from structkit.learning.encoders.settings import EncoderSettings
from structkit.learning.training.devices import share
from structkit.learning.training.module import TrainingModule, adamw
from structkit.learning.training.settings import Step
from structkit.learning.training.spool import Spool
from structkit.records.jsonl import Record
from structkit.seeds import random_for


@dataclass(frozen=True)
class Pairs:
    """A batch: texts by name, the queries first; the positive of query i is document i * group."""

    texts: dict[str, Texts]  # of (batch, query length) and (batch * group, document length)
    exclude: Tensor | None  # (batch, batch * group)


class DualEncoder(TrainingModule, Generic[B]):
    """Contrastive training of one encoder on queries, positives and, where given, negatives.

    A method with other documents overrides `batch` and `objective`; one whose texts have a loss by
    themselves overrides `embedded` and `weights`.
    """

    settings: EncoderSettings

    def __init__(self, settings: EncoderSettings, encoder: Encoder, negatives: int) -> None:
        super().__init__(settings)
        self.encoder = encoder
        self.negatives = negatives
        self.truncation = encoder.tokenizing.truncation
        self.document_fields = settings.document_fields
        self.width = int(encoder.model.config.hidden_size)

    def batch(self, records: list[Record], step: Step) -> Any:
        documents = self.documents(records, step)
        queries = [record["query"] for record in records]
        return Pairs(
            {
                "query": self.part(queries, len(records), "query"),
                "document": self.part(documents, len(records), "document", self.document_fields[0]),
            },
            self.excluded(records, documents),
        )

    def check_held_out(self, spool: Spool) -> None:
        check_negatives(spool, self.negatives)

    def part(self, texts: list[str], records: int, kind: str, field: str = "") -> Texts:
        """The texts of a batch for this process, equally many of each record, tokenized."""
        self.encoder.tokenizing.read_field(field)
        group = len(texts) // records
        own = share(records)
        chosen = texts[own.start * group : own.stop * group]
        tokens = self.encoder.tokens(chosen, kind) if chosen else None
        return Texts(tokens, own.start * group, len(texts))

    def documents(self, records: list[Record], step: Step) -> list[str]:
        """Each record's positive and its drawn negatives, one record after the other."""
        texts = []
        for record in records:
            texts.append(record["positive"])
            texts += [record["negatives"][place] for place in self.drawn(record, step)]
        return texts

    def drawn(self, record: Record, step: Step, name: str = "negatives") -> list[int]:
        """Which of a record's negatives take part in an epoch."""
        if not self.negatives:
            return []
        draw = random_for(self.settings.seed, record["id"], step.stage, step.epoch)
        return draw.sample(range(len(record[name])), self.negatives)

    def excluded(self, records: list[Record], documents: list[str]) -> Tensor | None:
        """The false negatives of a batch, on the model's device."""
        exclude = duplicates([record["query"] for record in records], documents)
        return None if exclude is None else exclude.to(self.encoder.device)

    def contrast(self, queries: Tensor, documents: Tensor, exclude: Tensor | None) -> Tensor:
        """The contrastive loss of embeddings, with this training's settings."""
        settings = self.settings
        assert settings.temperature
        return info_nce(queries, documents, settings.temperature, exclude, settings.symmetric)

    def embedded(self, inputs: B, name: str, rows: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Embeddings of some texts of a batch, (rows, dim), and their own losses: here none."""
        tokens = inputs.texts[name].tokens
        assert tokens is not None
        return self.encoder.embed(tokens.shortened(rows)), {}

    def objective(
        self, inputs: B, embeddings: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss over all embeddings of a batch, by the names of its texts, and its parts."""
        return self.contrast(embeddings["query"], embeddings["document"], inputs.exclude), {}

    def weights(self) -> dict[str, float]:
        """The losses that texts have by themselves, and the weight of each."""
        return {}

    def backward(self, inputs: B) -> dict[str, float]:
        return backward(self, inputs)

    def optimizer(self) -> torch.optim.Optimizer:
        return adamw(self, self.settings.learning_rate)

    def save(self, folder: Path) -> None:
        save_encoder(self.encoder, folder)

    def facts(self) -> dict[str, Any]:
        return {**self.encoder.facts(), "document_fields": self.document_fields}


def negatives_of(settings: EncoderSettings, spool: Spool, usual: int = 1) -> int:
    """How many negatives each query gets: the setting, or the usual number where records have any.

    Errors: a record that has fewer is a `UserError`.
    """
    wanted = settings.negatives_per_query
    if wanted is None:
        wanted = min(usual, spool.most_negatives)
    check_negatives(spool, wanted)
    return wanted


def check_negatives(spool: Spool, wanted: int) -> None:
    """Raise for a record with fewer negatives than each query needs."""
    fewest, record_id = spool.fewest_negatives
    if fewest < wanted:
        raise UserError(
            f"record {record_id} has {fewest:,.0f} negatives, but each query needs {wanted}",
            f"give all records as many, or set {flag('negatives_per_query')} {fewest:.0f}",
        ).at(spool.source)


def check_contrast(spool: Spool, settings: EncoderSettings, negatives: int) -> None:
    """Raise if no query can have a negative: the loss would always be 0."""
    if not negatives and min(len(spool), settings.batch_size) < 2 and settings.max_steps != 0:
        raise UserError(
            f"{len(spool)} records in batches of {settings.batch_size} give no negatives",
            f"use at least two records and {flag('batch_size', 2)}",
        )


def interleave(positives: Tensor, negatives: Tensor | None) -> Tensor:
    """Positives (batch, dim) and their negatives (batch * n, dim) in the layout of `info_nce`.

    >>> interleave(torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [4.0]])).tolist()
    [[1.0], [3.0], [2.0], [4.0]]
    """
    if negatives is None:
        return positives
    batch, dim = positives.shape
    group = [positives[:, None], negatives.view(batch, -1, dim)]  # (batch, 1, dim), (batch, n, dim)
    return torch.cat(group, dim=1).view(-1, dim)  # (batch * (1 + n), dim)
