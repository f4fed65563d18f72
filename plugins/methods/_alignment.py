"""The training of SANTA: alignment and entity prediction, with or without a decoder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from structkit.errors import UserError
from structkit.learning.encoders.dual_encoder import (
    DualEncoder,
    check_contrast,
    negatives_of,
    stacked,
)
from structkit.learning.encoders.encoder import Encoder, build_encoder
from structkit.learning.encoders.grad_cache import Texts
from structkit.learning.encoders.padded import Tokens
from structkit.learning.training.plan import Step
from structkit.learning.training.spool import Spool
from structkit.progress import say
from structkit.records.jsonl import Record

from ._entity_prediction import MaskedBatch, Predictor, Read, TokensInPlace, WrittenEntities
from ._masked_tokens import check_mask, has_decoder, token_head

if TYPE_CHECKING:
    from .santa import Method


@dataclass(frozen=True)
class Inputs:
    """A batch; what no loss needs is absent."""

    queries: Texts | None  # (batch, query length)
    masked: MaskedBatch | None  # (batch, document length)
    originals: Texts | None  # (batch, document length)
    negatives: Texts | None  # (batch * n, document length)
    exclude: Tensor | None  # (batch, batch * (1 + n))

    @property
    def texts(self) -> dict[str, Texts]:
        """The texts to embed, by name."""
        parts = {
            "masked": self.masked.texts if self.masked else None,
            "originals": self.originals,
            "negatives": self.negatives,
            "queries": self.queries,
        }
        return {name: texts for name, texts in parts.items() if texts is not None}


class Santa(DualEncoder[Inputs]):
    """Both losses of SANTA, from one pass over the masked documents where that is possible."""

    settings: Method

    def __init__(
        self, settings: Method, encoder: Encoder, negatives: int, predictor: Predictor
    ) -> None:
        super().__init__(settings, encoder, negatives)
        self.predictor = predictor

    def batch(self, records: list[Record], step: Step) -> Inputs:
        settings = self.settings
        align, predict = settings.alignment_weight > 0, settings.entity_weight > 0
        original = align and settings.align_on == "original"
        masked = None
        if settings.reads_masked:
            masked = self.predictor.masked(records, self.field, predict=predict)
        documents = self.documents(records, step)
        group = 1 + self.negatives
        negatives = [text for place, text in enumerate(documents) if place % group]
        return Inputs(
            self.field(records, "query", "query") if align else None,
            masked,
            self.field(records, "positive", "document") if original else None,
            self.part(negatives, len(records), "document") if align and negatives else None,
            self.excluded(records, documents) if align else None,
        )

    def field(self, records: list[Record], name: str, kind: str) -> Texts:
        """The share of a field that this process takes."""
        return self.part([record[name] for record in records], len(records), kind)

    def embedded(self, inputs: Inputs, name: str, rows: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        masked = inputs.masked
        if name != "masked" or masked is None or masked.wanted is None:
            return super().embedded(inputs, name, rows)
        assert masked.texts.tokens is not None
        tokens = masked.texts.tokens.shortened(rows)
        wanted = self.predictor.wanted(masked.wanted, rows, tokens.ids.shape[1])
        told: list[Read] = []

        def embedded(places: Tensor, piece: Tokens) -> Tensor:
            states = self.encoder.states(piece)  # (places, length, dim)
            own = self.predictor.wanted(wanted, places, piece.ids.shape[1])
            told.append(self.predictor.read(self.encoder, states, piece.mask, own))
            return told[-1].embeddings

        embeddings = self.encoder.in_pieces(tokens, embedded)
        states = torch.cat([each.states for each in told])  # (tokens, dim)
        labels = torch.cat([each.wanted for each in told])  # (tokens,)
        entity = self.predictor.loss(self.encoder, states, labels)
        return embeddings, {"entity": entity / masked.count}

    def objective(
        self, inputs: Inputs, embeddings: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        if inputs.queries is None:
            return torch.zeros((), device=self.encoder.device), {}
        positives = embeddings["originals" if inputs.originals else "masked"]  # (batch, dim)
        documents = stacked(positives, embeddings.get("negatives"))  # (batch * (1 + n), dim)
        alignment = self.contrast(embeddings["queries"], documents, inputs.exclude)
        return self.settings.alignment_weight * alignment, {"alignment": alignment.detach()}

    def weights(self) -> dict[str, float]:
        weight = self.settings.entity_weight
        return {"entity": weight} if weight else {}


def built(method: Method, spool: Spool, offline: bool) -> Santa:
    """The training that the settings ask for, with or without a decoder."""
    negatives = negatives_of(method, spool) if method.alignment_weight else 0
    if method.alignment_weight:
        check_contrast(spool, method, negatives)
    if encoder_only(method, offline):
        return without_decoder(method, spool, negatives, offline)
    assert method.target_length
    encoder = build_encoder(
        method, spool, offline=offline, head=True, lengths={"target": method.target_length}
    )
    if method.reads_masked:
        check_sentinels(encoder.tokenizing.tokenizer)
    return Santa(method, encoder, negatives, WrittenEntities())


def encoder_only(settings: Method, offline: bool) -> bool:
    """Whether the model has no decoder."""
    if settings.model is None:
        return settings.architecture == "bert"
    return not has_decoder(settings.model, offline=offline)


def without_decoder(settings: Method, spool: Spool, negatives: int, offline: bool) -> Santa:
    """The variant for encoder-only models; CLS takes the place of the decoder's first token."""
    if settings.pooling == "first-decoder-token":
        settings = replace(settings, pooling="cls")
        say("the model has no decoder: pooling is cls, and masked tokens are predicted in place")
    encoder = build_encoder(settings, spool, offline=offline)
    if settings.reads_masked:
        check_mask(encoder.tokenizing.tokenizer)
    start = settings.model if settings.entity_weight else None  # otherwise the head is not used
    head = token_head(encoder.model, start, offline=offline)
    return Santa(settings, encoder, negatives, TokensInPlace(encoder, head))


def check_sentinels(tokenizer: Any) -> None:
    """Raise if the tokenizer would cut a sentinel into pieces."""
    if tokenizer.convert_tokens_to_ids("<extra_id_0>") in (None, tokenizer.unk_token_id):
        raise UserError(
            "the model's tokenizer has no sentinels <extra_id_0> …",
            "use a T5 model such as CodeT5, or align alone: --entity-weight 0 --align-on original",
        )
