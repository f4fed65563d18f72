"""The training of a cross-encoder: the pairs of a batch, their losses, in chunks that fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Encoding
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertForSequenceClassification

from structkit.learning.encoders.adapters import heads_of
from structkit.learning.encoders.cross_encoder import (
    CrossEncoder,
    Pair,
    start_cross_encoder,
)
from structkit.learning.encoders.dual_encoder import check_contrast, negatives_of
from structkit.learning.encoders.models import bert_config, prepare_layers, train_tokenizer
from structkit.learning.encoders.settings import TransformerSettings
from structkit.learning.folders import model_folder
from structkit.learning.metadata import PAIR_LENGTH
from structkit.learning.training.data import Spool, Step
from structkit.learning.training.devices import share, total
from structkit.learning.training.trainer import (
    Numbers,
    TrainingModule,
    seed_parameters,
)
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.reproducibility import random_for


@dataclass(frozen=True)
class Groups:
    """The pairs of this process's queries, each positive before its negatives."""

    inputs: list[Encoding]
    sizes: list[int]  # pairs of each query
    queries: int  # of the whole batch

    def chunks(self, size: int) -> Iterator[tuple[list[Encoding], list[int]]]:
        """Yield the pairs of whole queries, at most `size` unless one query has more; 0: all."""
        first = 0
        some = list[int]()
        for count in self.sizes:
            if size and some and sum(some) + count > size:
                yield self.inputs[first : first + sum(some)], some
                first, some = first + sum(some), []
            some.append(count)
        if some:
            yield self.inputs[first:], some


class CrossEncoderTraining(TrainingModule):
    """Scores of a query's positive and of its negatives, compared with each other."""

    settings: TransformerSettings

    def __init__(
        self,
        settings: TransformerSettings,
        encoder: CrossEncoder,
        negatives: int,
        others: int,
    ) -> None:
        super().__init__(settings)
        self.rounds = self.ahead = True
        encoder.adapter = prepare_layers(
            encoder.model,
            settings.lora_rank,
            heads_of(encoder.model),
            checkpointing=settings.checkpointing,
        )
        self.encoder, self.negatives, self.others = encoder, negatives, others
        self.truncation = encoder.truncation

    def batch(self, records: list[Record], step: Step) -> Groups:
        groups = [self.group(each, records, step) for each in records[share(len(records))]]
        pairs = [pair for group in groups for pair in group]
        inputs = self.encoder.inputs(pairs) if pairs else []
        return Groups(inputs, list(map(len, groups)), len(records))

    def group(self, record: Record, records: Sequence[Record], step: Step) -> list[Pair]:
        """Return a query with its positive, then this epoch's negatives.

        If it has no negatives, they are positives of other queries of the batch.
        """
        texts, count = record.get("negatives", []), self.negatives
        if not texts or not count:
            same = {each["positive"] for each in records if each["query"] == record["query"]}
            positives = dict.fromkeys(each["positive"] for each in records)
            texts, count = [each for each in positives if each not in same], self.others
        draw = random_for(self.settings.seed, record["id"], step.stage, step.epoch)
        drawn = draw.sample(texts, min(count, len(texts)))
        return [(record["query"], text) for text in (record["positive"], *drawn)]

    def backward(self, inputs: Groups) -> Numbers:
        """Add the gradients of a batch, some queries at a time; returns what reads its loss."""
        losses: list[Tensor] = []
        device = self.encoder.device
        for chunk, sizes in inputs.chunks(self.settings.chunk_size):
            with torch.autocast(device.type, torch.bfloat16, enabled=self.settings.bf16):
                logits = self.encoder.logits(chunk)
            part = self.objective(logits, sizes) / inputs.queries
            self.pass_back(part)
            losses.append(part.detach())
        return lambda: {"loss": total(sum(part.item() for part in losses))}

    def objective(self, logits: Tensor, sizes: Sequence[int]) -> Tensor:
        """Return the sum of the losses of some queries; `logits` are those of their pairs."""
        rows = nn.utils.rnn.pad_sequence(
            list(torch.split(logits, list(sizes))), batch_first=True, padding_value=float("-inf")
        )  # (queries, most pairs)
        first = torch.zeros(len(rows), dtype=torch.int64, device=rows.device)
        return functional.cross_entropy(rows, first, reduction="sum")

    def save(self, folder: Path) -> None:
        self.encoder.save(folder)

    def metadata(self) -> dict[str, Any]:
        return {"lengths": {"pair": self.encoder.length}}


def build(settings: TransformerSettings, spool: Spool, *, others: int) -> CrossEncoderTraining:
    """Return the training of a new cross-encoder, or of the start model.

    A query without negatives is compared with `others` positives. Errors: there is only one.
    """
    negatives = negatives_of(settings, spool) if spool.most_negatives else 0
    check_contrast(spool, settings, negatives)
    if not negatives or spool.fewest_negatives[0] == 0:
        say("a query without negatives is compared with positives of others in its batch")
    seed_parameters(settings.seed)
    if settings.model:
        encoder = start_cross_encoder(model_folder(settings.model, offline=True))
    else:
        texts = spool.texts([*settings.needs, *settings.optional])
        tokenizer = train_tokenizer(texts, settings.vocabulary_size, cls=True)
        config = bert_config(settings.size, tokenizer, num_labels=1)
        model = BertForSequenceClassification(config)
        encoder = CrossEncoder(model, tokenizer, PAIR_LENGTH, nn.Sigmoid())
    return CrossEncoderTraining(settings, encoder, negatives, others)
