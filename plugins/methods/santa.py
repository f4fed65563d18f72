"""SANTA: alignment of queries with documents, and prediction of masked entities, by one T5.

    loss      = alignment_weight * alignment + entity_weight * entity                      (eq. 4)
    alignment = - log( exp(q . d+ / t) / sum over d in D of exp(q . d / t) ), mean over q  (eq. 5)
    entity    = - sum over j of log P(target_j | masked, target_<j), mean a token          (eq. 6-7)

q and d are embeddings of queries and documents: the decoder's state at its start token (eq. 1). D
are the documents of the batch, t is the temperature. With labels that state is the same, so one
pass over the masked document gives its embedding and its entity loss.

Records: `query`, `positive`, `masked` and `target` (from mask-entities), optional `negatives`.
Source: Li et al. 2023, "Structure-Aware Language Model Pretraining Improves Dense Retrieval on
Structured Data" (https://aclanthology.org/2023.findings-acl.734), released code for the settings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from structkit.errors import UserError
from structkit.learning.encoders.dual_encoder import (
    DualEncoder,
    check_contrast,
    negatives_of,
    stacked,
)
from structkit.learning.encoders.encoder import Encoder, build_encoder, settled, token_states
from structkit.learning.encoders.grad_cache import Texts
from structkit.learning.encoders.poolings import POOLINGS
from structkit.learning.encoders.settings import EncoderSettings
from structkit.learning.training.plan import Step
from structkit.learning.training.settings import LENGTH
from structkit.learning.training.spool import Spool
from structkit.learning.training.tokens import Tokens
from structkit.plugin import setting
from structkit.progress import say
from structkit.records.jsonl import Record

from ._entity_prediction import Masked, Predictor, TokensInPlace, WrittenEntities
from ._masked_tokens import has_decoder, token_head

CODE = "SANTA's released code"
COSINES = 0.05  # the usual temperature of scores between -1 and 1


@dataclass(frozen=True)
class Inputs:
    """A batch; what a loss does not need is absent."""

    queries: Texts | None  # (batch, query length)
    masked: Masked | None  # (batch, document length)
    originals: Texts | None  # (batch, document length)
    negatives: Texts | None  # (batch * n, document length)
    exclude: Tensor | None  # (batch, batch * (1 + n))

    def texts(self) -> dict[str, Texts]:
        """What is embedded, by name."""
        parts = {
            "masked": self.masked.texts if self.masked else None,
            "originals": self.originals,
            "negatives": self.negatives,
            "queries": self.queries,
        }
        return {name: texts for name, texts in parts.items() if texts is not None}


class Santa(DualEncoder):
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
        if predict or settings.align_on == "masked":
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
        """What this process takes of a field."""
        return self.part([record[name] for record in records], len(records), kind)

    def texts(self, inputs: Inputs) -> dict[str, Texts]:
        return inputs.texts()

    def embedded(self, inputs: Inputs, name: str, rows: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        masked = inputs.masked
        if name != "masked" or masked is None or masked.wanted is None:
            return super().embedded(inputs, name, rows)
        assert masked.texts.tokens is not None
        tokens = masked.texts.tokens.shortened(rows)
        wanted = self.predictor.wanted(masked.wanted, rows, tokens.ids.shape[1])
        sums: list[Tensor] = []

        def both(places: Tensor, piece: Tokens) -> Tensor:
            states = token_states(self.encoder.model, piece)  # (places, length, dim)
            own = self.predictor.wanted(wanted, places, piece.ids.shape[1])
            embeddings, entity = self.predictor.predicted(self.encoder, states, piece.mask, own)
            sums.append(entity)
            return embeddings

        embeddings = self.encoder.in_pieces(tokens, both)
        return embeddings, {"entity": torch.stack(sums).sum() / masked.count}

    def objective(
        self, inputs: Inputs, found: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        if inputs.queries is None:
            return torch.zeros((), device=self.encoder.device), {}
        positives = found["originals" if inputs.originals else "masked"]  # (batch, dim)
        documents = stacked(positives, found.get("negatives"))  # (batch * (1 + n), dim)
        alignment = self.contrast(found["queries"], documents, inputs.exclude)
        return self.settings.alignment_weight * alignment, {"alignment": alignment.detach()}

    def weights(self) -> dict[str, float]:
        weight = self.settings.entity_weight
        return {"entity": weight} if weight else {}


@dataclass(frozen=True)
class Method(EncoderSettings):
    """Settings of SANTA's pretraining; its fine-tuning is `--entity-weight 0` and other numbers."""

    example: ClassVar[str] = (
        "structkit pair functions.jsonl | structkit mask-entities | "
        "structkit train santa -o models/santa"
    )
    shared: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("query", "positive", "masked", "target")

    pooling: str | None = setting(
        None,
        "how states become one embedding",
        "SANTA, eq. 1",
        POOLINGS,
        usual="first-decoder-token",
    )
    normalize: bool | None = setting(
        None, "scale embeddings to length 1", "SANTA, eq. 2: dot product", usual=False
    )
    query_length: int | None = setting(None, "most tokens of a query", CODE, usual=50)
    document_length: int | None = setting(None, "most tokens of a document", CODE, usual=240)
    target_length: int | None = setting(
        None, "most tokens of a target", CODE, low=2, high=LENGTH, usual=35
    )
    temperature: float | None = setting(
        None,
        "divides the scores of the contrastive loss",
        f"SANTA, eq. 5: dot products; {COSINES} where embeddings have length 1",
        usual=1.0,
    )
    epochs: int = setting(6, "passes over the records", CODE)
    batch_size: int = setting(16, "records in one step", CODE)
    learning_rate: float = setting(5e-5, "highest learning rate of AdamW", CODE)
    alignment_weight: float = setting(
        1.0, "weight of the contrastive loss (SDA)", "SANTA, eq. 4", low=0.0, high=1e6
    )
    entity_weight: float = setting(
        1.0, "weight of entity prediction (MEP)", "SANTA, eq. 4", low=0.0, high=1e6
    )
    align_on: str = setting(
        "masked", "document that queries are aligned with", "released code", ("masked", "original")
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.alignment_weight and not self.entity_weight:
            raise UserError(
                "--alignment-weight and --entity-weight are both 0", "leave one out", status=2
            )

    def settled(self, own: Record) -> Method:
        settings = super().settled(own)
        if self.temperature is None and "temperature" not in own and settings.normalize:
            return replace(settings, temperature=COSINES)
        return settings

    def build(self, spool: Spool, *, offline: bool = False) -> Santa:
        settings = settled(self, offline=offline)
        negatives = negatives_of(self, spool) if self.alignment_weight else 0
        if self.alignment_weight:
            check_contrast(spool, self, negatives)
        if self.encoder_only(offline):
            return settings.without_decoder(spool, negatives, offline)
        assert settings.target_length
        encoder = build_encoder(
            settings, spool, offline=offline, head=True, lengths={"target": settings.target_length}
        )
        check_sentinels(encoder.tokenizing.tokenizer)
        return Santa(settings, encoder, negatives, WrittenEntities())

    def encoder_only(self, offline: bool) -> bool:
        """Whether the model has no decoder."""
        if self.model is None:
            return self.architecture == "bert"
        return not has_decoder(self.model, offline=offline)

    def without_decoder(self, spool: Spool, negatives: int, offline: bool) -> Santa:
        """The variant for encoder-only models; CLS takes the place of the decoder's first token."""
        settings = self
        if self.pooling == "first-decoder-token":
            settings = replace(self, pooling="cls")
            say(
                "the model has no decoder: --pooling becomes cls, and tokens are predicted in place"
            )
        encoder = build_encoder(settings, spool, offline=offline)
        head = token_head(encoder.model, self.model, offline=offline)
        return Santa(settings, encoder, negatives, TokensInPlace(encoder, head))


def check_sentinels(tokenizer: Any) -> None:
    """Raise where the tokenizer would cut a sentinel into pieces."""
    if tokenizer.convert_tokens_to_ids("<extra_id_0>") in (None, tokenizer.unk_token_id):
        raise UserError(
            "the model's tokenizer has no sentinels <extra_id_0> …", "use a T5 model such as CodeT5"
        )
