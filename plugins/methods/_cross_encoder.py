"""The training of a cross-encoder: the pairs of a batch, their losses, in chunks that fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from tokenizers import Encoding
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertForSequenceClassification

from structkit.errors import UserError, flag, program
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
from structkit.learning.training.data import Spool, Step
from structkit.learning.training.devices import share, total
from structkit.learning.training.trainer import (
    Numbers,
    TrainingModule,
    adamw,
    seed_parameters,
)
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.reproducibility import random_for
from structkit.settings import setting_of


class PairSettings(Protocol):
    """Settings of pairs and their loss; source: the method `cross-encoder`."""

    @property
    def pair_length(self) -> int: ...
    @property
    def others(self) -> int: ...
    @property
    def loss(self) -> str: ...
    @property
    def activation(self) -> str: ...


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
    """Scores of a query's positive and of its negatives, compared or judged one by one."""

    settings: TransformerSettings

    def __init__(
        self,
        settings: TransformerSettings,
        encoder: CrossEncoder,
        negatives: int,
        others: int,
        *,
        binary: bool,
    ) -> None:
        super().__init__(settings)
        self.rounds = self.ahead = True
        encoder.adapter = prepare_layers(encoder.model, settings, heads_of(encoder.model))
        self.binary = binary
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
        terms = total(len(inputs.inputs)) if self.binary else inputs.queries
        for chunk, sizes in inputs.chunks(self.settings.chunk_size):
            with torch.autocast(device.type, torch.bfloat16, enabled=self.settings.bf16):
                logits = self.encoder.logits(chunk)
            part = self.objective(logits, sizes) / terms
            self.pass_back(part)
            losses.append(part.detach())
        return lambda: {"loss": total(sum(part.item() for part in losses))}

    def objective(self, logits: Tensor, sizes: Sequence[int]) -> Tensor:
        """Return the sum of the losses of some queries; `logits` are those of their pairs."""
        first = torch.tensor([0, *sizes[:-1]], device=logits.device).cumsum(0)  # (queries,)
        if self.binary:
            labels = torch.zeros_like(logits).index_fill(0, first, 1.0)
            return functional.binary_cross_entropy_with_logits(logits, labels, reduction="sum")
        rows = nn.utils.rnn.pad_sequence(
            list(torch.split(logits, list(sizes))), batch_first=True, padding_value=float("-inf")
        )  # (queries, most pairs)
        return functional.cross_entropy(rows, torch.zeros_like(first), reduction="sum")

    def optimizer(self) -> torch.optim.Optimizer:
        return adamw(self, self.settings.learning_rate)

    def save(self, folder: Path) -> None:
        self.encoder.save(folder)

    def metadata(self) -> dict[str, Any]:
        return {"lengths": {"pair": self.encoder.length}}


def build(
    settings: TransformerSettings, spool: Spool, *, pairs: PairSettings
) -> CrossEncoderTraining:
    """Return the training of a new cross-encoder, or of the start model. Errors: no negatives."""
    binary = pairs.loss == "binary"
    negatives = negatives_of(settings, spool) if spool.most_negatives or binary else 0
    if binary and not negatives:
        raise UserError(
            f"no record has negatives, which {flag('loss', 'binary')} needs",
            f"add them with {program('pair')} {flag('negatives_from')}, or use "
            f"{flag('loss', 'cross-entropy')}",
        ).at(spool.source)
    if not binary:
        check_contrast(spool, settings, negatives)
        if not negatives or spool.fewest_negatives[0] == 0:
            say("a query without negatives is compared with positives of others in its batch")
    seed_parameters(settings.seed)
    activation = nn.Sigmoid() if pairs.activation == "sigmoid" else nn.Identity()
    if settings.model:
        folder = model_folder(settings.model, offline=True)
        given = setting_of(type(settings), "pair_length").given(settings)
        encoder = start_cross_encoder(folder, length=given, activation=activation)
    else:
        texts = spool.texts([*settings.needs, *settings.optional])
        tokenizer = train_tokenizer(texts, settings.vocabulary_size, cls=True)
        config = bert_config(settings.size, tokenizer, num_labels=1)
        model = BertForSequenceClassification(config)
        encoder = CrossEncoder(model, tokenizer, pairs.pair_length, activation)
    return CrossEncoderTraining(settings, encoder, negatives, pairs.others, binary=binary)
