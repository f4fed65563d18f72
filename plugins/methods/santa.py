"""SANTA: alignment of queries with documents, and prediction of masked entities, by one T5.

Records: `query`, `positive`, `masked` and `target` (from mask-entities), optional `negatives`.
Source: Li et al. 2023, "Structure-Aware Language Model Pretraining Improves Dense Retrieval on
Structured Data" (https://aclanthology.org/2023.findings-acl.734), released code for the settings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from structkit.errors import UserError
from structkit.learning.encoders.dual_encoder import (
    DualEncoder,
    check_contrast,
    negatives_of,
    stacked,
)
from structkit.learning.encoders.encoder import Encoder, build_encoder, token_states
from structkit.learning.encoders.grad_cache import Texts
from structkit.learning.encoders.poolings import POOLINGS, decoder_states
from structkit.learning.encoders.settings import EncoderSettings
from structkit.learning.training.distributed import share, total
from structkit.learning.training.plan import Step
from structkit.learning.training.settings import LENGTH
from structkit.learning.training.spool import Spool
from structkit.learning.training.tokens import Tokens
from structkit.plugin import setting
from structkit.progress import say
from structkit.records.jsonl import Record

from ._masked_tokens import (
    IGNORED,
    MaskedTokens,
    TokenHead,
    has_decoder,
    token_head,
)

CODE = "SANTA's released code"


@dataclass(frozen=True)
class Inputs:
    """A batch; what a loss does not need is absent."""

    queries: Texts | None  # (batch, query length)
    masked: Texts | None  # (batch, document length)
    targets: Texts | None  # (batch, target length)
    originals: Texts | None  # (batch, document length)
    negatives: Texts | None  # (batch * n, document length)
    exclude: Tensor | None  # (batch, batch * (1 + n))
    target_tokens: float = 0  # of the whole batch
    labels: Tensor | None = None  # (batch, document length), for a model without decoder


class Santa(DualEncoder):
    """Both losses of SANTA, from one pass over the masked documents where that is possible."""

    settings: Method

    def batch(self, records: list[Record], step: Step) -> Inputs:
        settings = self.settings
        align, predict = settings.alignment_weight > 0, settings.entity_weight > 0
        masked = predict or settings.align_on == "masked"
        original = align and settings.align_on == "original"
        documents = self.documents(records, step)
        group = 1 + self.negatives
        negatives = [text for place, text in enumerate(documents) if place % group]

        targets = self.field(records, "target", "target") if predict else None
        return Inputs(
            self.field(records, "query", "query") if align else None,
            self.field(records, "masked", "document") if masked else None,
            targets,
            self.field(records, "positive", "document") if original else None,
            self.part(negatives, len(records), "document") if align and negatives else None,
            self.excluded(records, documents) if align else None,
            total(int(targets.tokens.mask.sum()) if targets and targets.tokens else 0),
        )

    def field(self, records: list[Record], name: str, kind: str) -> Texts | None:
        """What this process takes of a field."""
        return self.part([record[name] for record in records], len(records), kind)

    def texts(self, inputs: Any) -> dict[str, Texts]:
        names = ("masked", "originals", "negatives", "queries")
        found = {name: getattr(inputs, name) for name in names}
        return {name: texts for name, texts in found.items() if texts is not None}

    def embedded(self, inputs: Any, name: str, rows: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        if name != "masked" or inputs.targets is None:
            return super().embedded(inputs, name, rows)
        tokens = inputs.masked.tokens.shortened(rows)
        embeddings, entity = self.masked_pass(tokens, inputs.targets.tokens.shortened(rows))
        return embeddings, {"entity": entity / inputs.target_tokens}

    def objective(self, inputs: Any, found: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        if inputs.queries is None:
            return torch.zeros((), device=self.encoder.device), {}
        positives = found["originals" if inputs.originals else "masked"]  # (batch, dim)
        documents = stacked(positives, found.get("negatives"))  # (batch * (1 + n), dim)
        alignment = self.contrast(found["queries"], documents, inputs.exclude)
        return self.settings.alignment_weight * alignment, {"alignment": alignment.detach()}

    def weights(self) -> dict[str, float]:
        weight = self.settings.entity_weight
        return {"entity": weight} if weight else {}

    def masked_pass(self, masked: Tokens, targets: Tokens) -> tuple[Tensor, Tensor]:
        """Embeddings of masked documents, (batch, dim), and the summed loss of their entities."""
        sums: list[Tensor] = []

        def both(rows: Tensor, piece: Tokens) -> Tensor:
            states = token_states(self.encoder.model, piece)  # (rows, length, dim)
            wanted = targets.shortened(rows)
            decoded = self.decoded(states, piece.mask, wanted)
            sums.append(self.entity_loss(decoded, wanted))
            if self.settings.pooling == "first-decoder-token":
                # position 0 has read the start token only: it is the embedding (eq. 1)
                return self.encoder.finished(decoded[:, 0])
            return self.encoder.pooled(states, piece.mask)

        embeddings = self.encoder.in_pieces(masked, both)
        return embeddings, torch.stack(sums).sum()

    def decoded(self, states: Tensor, mask: Tensor, targets: Tokens) -> Tensor:
        """Decoder states with the targets as input, shifted right, (batch, target length, dim)."""
        model = self.encoder.model
        shifted = targets.ids.roll(1, dims=1)  # (batch, target length)
        shifted[:, 0] = model.config.decoder_start_token_id
        return decoder_states(model, shifted, states, mask)

    def entity_loss(self, decoded: Tensor, targets: Tokens) -> Tensor:
        """Masked entity prediction: the cross-entropies of all target tokens (eq. 6-7)."""
        model = self.encoder.model
        real = targets.mask.bool()  # (batch, target length)
        states = decoded[real]  # (tokens, dim)
        if getattr(model.config, "scale_decoder_outputs", model.config.tie_word_embeddings):
            states = states * model.config.d_model**-0.5
        scores = model.lm_head(states)  # (tokens, vocabulary)
        return functional.cross_entropy(scores.float(), targets.ids[real], reduction="sum")


class EncoderSanta(Santa):
    """SANTA without a decoder: the tokens of masked entities are predicted where they stand."""

    def __init__(self, settings: Method, encoder: Encoder, negatives: int, head: TokenHead) -> None:
        super().__init__(settings, encoder, negatives)
        self.head = head
        self.masking = MaskedTokens(encoder.tokenizing)

    def batch(self, records: list[Record], step: Step) -> Inputs:
        """As above; the masked documents hold mask tokens, and targets are as long as they."""
        found = super().batch(records, step)
        if found.masked is None:
            return found
        own = records[share(len(records))]
        tokens, labels = None, None
        if own:
            tokens, labels = self.masking.batch(
                [record["masked"] for record in own], [record["target"] for record in own]
            )
            tokens, labels = tokens.to(self.encoder.device), labels.to(self.encoder.device)
        count = int((labels != IGNORED).sum()) if labels is not None else 0
        return replace(
            found,
            masked=Texts(tokens, found.masked.first, found.masked.total),
            labels=labels,
            target_tokens=max(1, total(count)),
        )

    def field(self, records: list[Record], name: str, kind: str) -> Texts | None:
        if name in ("masked", "target"):  # they are read otherwise
            return (
                Texts(None, share(len(records)).start, len(records)) if name == "masked" else None
            )
        return super().field(records, name, kind)

    def embedded(self, inputs: Any, name: str, rows: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        if name != "masked" or not self.settings.entity_weight:
            return DualEncoder.embedded(self, inputs, name, rows)
        sums: list[Tensor] = []
        tokens = inputs.masked.tokens.shortened(rows)
        labels = inputs.labels[rows, : tokens.ids.shape[1]]  # (rows, length)
        table = self.encoder.model.get_input_embeddings().weight  # (vocabulary, dim)

        def both(places: Tensor, piece: Tokens) -> Tensor:
            states = token_states(self.encoder.model, piece)  # (places, length, dim)
            wanted = labels[places, : piece.ids.shape[1]]
            chosen = wanted != IGNORED
            scores = self.head(states[chosen], table).float()  # (tokens, vocabulary)
            sums.append(functional.cross_entropy(scores, wanted[chosen], reduction="sum"))
            return self.encoder.pooled(states, piece.mask)

        embeddings = self.encoder.in_pieces(tokens, both)
        return embeddings, {"entity": torch.stack(sums).sum() / inputs.target_tokens}


@dataclass(frozen=True)
class Method(EncoderSettings):
    """Settings of SANTA's pretraining; its fine-tuning is `--entity-weight 0` and other numbers."""

    shared: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("query", "positive", "masked", "target")

    pooling: str = setting(
        "first-decoder-token", "how states become one embedding", "SANTA, eq. 1", POOLINGS
    )
    normalize: bool = setting(False, "scale embeddings to length 1", "SANTA, eq. 2: dot product")
    query_length: int = setting(50, "most tokens of a query", CODE)
    document_length: int = setting(240, "most tokens of a document", CODE)
    target_length: int = setting(
        35, "most tokens of a target: about ten entities", CODE, low=2, high=LENGTH
    )
    temperature: float = setting(1.0, "divides the scores of the contrastive loss", "SANTA, eq. 5")
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

    def build(self, spool: Spool, *, offline: bool = False) -> Santa:
        negatives = negatives_of(self, spool) if self.alignment_weight else 0
        if self.alignment_weight:
            check_contrast(spool, self, negatives)
        if self.encoder_only(offline):
            return self.without_decoder(spool, negatives, offline)
        encoder = build_encoder(
            self, spool, offline=offline, head=True, lengths={"target": self.target_length}
        )
        check_sentinels(encoder.tokenizing.tokenizer)
        return Santa(self, encoder, negatives)

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
        return EncoderSanta(settings, encoder, negatives, head)


def check_sentinels(tokenizer: Any) -> None:
    """Raise where the tokenizer would cut a sentinel into pieces."""
    if tokenizer.convert_tokens_to_ids("<extra_id_0>") in (None, tokenizer.unk_token_id):
        raise UserError(
            "the model's tokenizer has no sentinels <extra_id_0> …", "use a T5 model such as CodeT5"
        )
