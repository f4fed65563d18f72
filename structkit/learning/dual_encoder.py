"""One encoder for queries and documents, trained on pairs: what contrastive methods share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from structkit.errors import UserError
from structkit.jsonl import Record
from structkit.learning.encoder import Encoder
from structkit.learning.losses import duplicates, info_nce
from structkit.learning.model_folder import save_encoder
from structkit.learning.plan import Step
from structkit.learning.settings import TrainingSettings
from structkit.learning.spool import Spool
from structkit.learning.tokens import Tokens
from structkit.learning.training_module import TrainingModule
from structkit.seeds import random_for


@dataclass(frozen=True)
class Pairs:
    """A batch: queries, and documents with the positive of query i at i * group."""

    queries: Tokens  # (batch, query length)
    documents: Tokens  # (batch * group, document length)
    exclude: Tensor | None  # (batch, batch * group)


class DualEncoder(TrainingModule):
    """Contrastive training of one encoder on queries, positives and, where given, negatives."""

    def __init__(self, settings: TrainingSettings, encoder: Encoder, negatives: int) -> None:
        super().__init__(settings)
        self.encoder = encoder
        self.negatives = negatives
        self.truncation = encoder.tokenizing.truncation

    def batch(self, records: list[Record], step: Step) -> Any:
        documents = self.documents(records, step)
        return Pairs(
            self.encoder.tokens([record["query"] for record in records], "query"),
            self.encoder.tokens(documents, "document"),
            self.excluded(records, documents),
        )

    def documents(self, records: list[Record], step: Step) -> list[str]:
        """Each record's positive and its drawn negatives, one record after the other."""
        seed, texts = self.settings.seed, []
        for record in records:
            texts.append(record["positive"])
            if self.negatives:
                draw = random_for(seed, record["id"], step.stage, step.epoch)
                texts += draw.sample(record["negatives"], self.negatives)
        return texts

    def excluded(self, records: list[Record], documents: list[str]) -> Tensor | None:
        """The false negatives of a batch, on the model's device."""
        exclude = duplicates([record["query"] for record in records], documents)
        return None if exclude is None else exclude.to(self.encoder.device)

    def contrast(self, queries: Tensor, documents: Tensor, exclude: Tensor | None) -> Tensor:
        """The contrastive loss of embeddings, with this training's settings."""
        settings = self.settings
        return info_nce(queries, documents, settings.temperature, exclude, settings.symmetric)

    def loss(self, inputs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        queries = self.encoder.embed(inputs.queries)  # (batch, dim)
        documents = self.encoder.embed(inputs.documents)  # (batch * group, dim)
        return self.contrast(queries, documents, inputs.exclude), {}

    def save(self, folder: Path) -> None:
        save_encoder(self.encoder, folder)

    def facts(self) -> dict[str, Any]:
        return {"lengths": self.encoder.tokenizing.lengths}


def negatives_of(settings: TrainingSettings, spool: Spool) -> int:
    """How many negatives each query gets: the setting, or 1 where records have any.

    Errors: a record that has fewer is a `UserError`.
    """
    wanted = settings.negatives_per_query
    if wanted is None:
        wanted = min(1, spool.most_negatives)
    fewest, record_id = spool.fewest_negatives
    if fewest < wanted:
        raise UserError(
            f"record {record_id} has {fewest:g} negatives, and each query needs {wanted}",
            "give all records as many, or set --negatives-per-query 0",
        )
    return wanted


def check_contrast(spool: Spool, settings: TrainingSettings, negatives: int) -> None:
    """Raise where no query can have a negative: the loss would be 0 throughout."""
    if not negatives and min(len(spool), settings.batch_size) < 2 and settings.max_steps != 0:
        raise UserError(
            f"{len(spool)} records in batches of {settings.batch_size} give no negatives",
            "use at least two records and --batch-size 2",
        )


def stacked(positives: Tensor, negatives: Tensor | None) -> Tensor:
    """Positives (batch, dim) and their negatives (batch * n, dim) in the layout of `info_nce`.

    >>> stacked(torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [4.0]])).tolist()
    [[1.0], [3.0], [2.0], [4.0]]
    """
    if negatives is None:
        return positives
    batch, dim = positives.shape
    group = [positives[:, None], negatives.view(batch, -1, dim)]  # (batch, 1, dim), (batch, n, dim)
    return torch.cat(group, dim=1).view(-1, dim)  # (batch * (1 + n), dim)
