"""One encoder for queries and documents, trained on pairs: what contrastive methods share."""

from __future__ import annotations

from collections.abc import Sequence
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
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.seeds import random_for


@dataclass(frozen=True)
class Pairs:
    """A batch: texts by name, the queries first; the positive of query i is document i * group."""

    texts: dict[str, Texts]  # of (batch, query length) and (documents, document length)
    exclude: Tensor | None  # (batch, batch * group)
    present: Tensor | None = None  # (batch * group,): which documents there are, if some are not


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
        self.width = encoder.width

    def batch(self, records: list[Record], step: Step) -> Any:
        documents = self.documents(records, step)
        queries = [record["query"] for record in records]
        return Pairs(
            {
                "query": self.part(queries, len(records), "query"),
                "document": self.part(documents, len(records), "document", self.document_fields[0]),
            },
            self.excluded(records, documents),
            self.present(documents),
        )

    def part(self, texts: Sequence[str | None], records: int, kind: str, field: str = "") -> Texts:
        """The texts of a batch for this process, tokenized.

        Each record has equally many places, of which some may hold no text.
        """
        self.encoder.tokenizing.read_field(field)
        group = len(texts) // records
        own = share(records)
        first, last = own.start * group, own.stop * group
        chosen = [text for text in texts[first:last] if text is not None]
        tokens = self.encoder.tokens(chosen, kind) if chosen else None
        return Texts(tokens, first - texts[:first].count(None), len(texts) - texts.count(None))

    def documents(self, records: list[Record], step: Step) -> list[str | None]:
        """Each record's positive and its negatives, one record after the other."""
        texts: list[str | None] = []
        for record in records:
            texts += [record["positive"], *self.negative_texts(record, step, "negatives")]
        return texts

    def negative_texts(
        self, record: Record, step: Step, name: str, drawn: str = ""
    ) -> list[str | None]:
        """A record's drawn negatives in a field, and None for each that it lacks.

        `drawn` is the field by which they are drawn, if it is another.
        """
        texts = record.get(name, ())
        own = [texts[place] for place in self.drawn(record, step, drawn or name)]
        return own + [None] * (self.negatives - len(own))

    def drawn(self, record: Record, step: Step, name: str = "negatives") -> list[int]:
        """Which of a record's negatives take part in an epoch."""
        there = len(record.get(name, ()))
        if not self.negatives or not there:
            return []
        draw = random_for(self.settings.seed, record["id"], step.stage, step.epoch)
        return draw.sample(range(there), min(there, self.negatives))

    def excluded(self, records: list[Record], documents: Sequence[str | None]) -> Tensor | None:
        """The false negatives of a batch, and what is no document, on the model's device."""
        exclude = duplicates([record["query"] for record in records], documents)
        return None if exclude is None else exclude.to(self.encoder.device)

    def present(self, documents: Sequence[str | None]) -> Tensor | None:
        """The places that hold a document, (batch * group,); None if all do."""
        there = [text is not None for text in documents]
        return None if all(there) else torch.tensor(there, device=self.encoder.device)

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
        documents = spread(embeddings["document"], inputs.present)
        return self.contrast(embeddings["query"], documents, inputs.exclude), {}

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

    A record with fewer uses what it has. Errors: `UserError` if no record has so many.
    """
    wanted, most = settings.negatives_per_query, spool.most_negatives
    if wanted is None:
        wanted = min(usual, most)
    fewest, record_id = spool.fewest_negatives
    if most < wanted:
        raise UserError(
            f"no record has more than {most:,} negatives, but each query needs {wanted}",
            f"add negatives, or set {flag('negatives_per_query')} {most}",
        ).at(spool.source)
    if fewest < wanted:
        say(
            f"record {record_id} has {fewest:,.0f} negatives, and others have up to {most:,}: "
            f"each uses what it has, at most {wanted}"
        )
    return wanted


def check_contrast(spool: Spool, settings: EncoderSettings, negatives: int) -> None:
    """Raise if no query can have a negative: the loss would always be 0."""
    if not negatives and min(len(spool), settings.batch_size) < 2 and settings.max_steps != 0:
        raise UserError(
            f"{len(spool)} records in batches of {settings.batch_size} give no negatives",
            f"use at least two records and {flag('batch_size', 2)}",
        )


def spread(documents: Tensor, present: Tensor | None) -> Tensor:
    """Documents (documents, dim) at their places (places, dim), with zeros where there is none.

    >>> spread(torch.tensor([[1.0], [2.0]]), torch.tensor([True, False, True])).tolist()
    [[1.0], [0.0], [2.0]]
    """
    if present is None:
        return documents
    rows = documents.new_zeros(len(present), documents.shape[1])  # (places, dim)
    return rows.index_copy(0, present.nonzero()[:, 0], documents)


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
