"""Masked entity prediction (MEP): by a decoder that writes the target, or in place without one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor, nn
from torch.nn import functional

from structkit.learning.encoders.encoder import Encoder
from structkit.learning.encoders.grad_cache import Texts
from structkit.learning.encoders.padded import Tokens
from structkit.learning.encoders.poolings import decoder_states
from structkit.learning.training.distributed import share, total
from structkit.records.jsonl import Record

from ._masked_tokens import IGNORED, MaskedTokens, TokenHead, entities_of

# this process's share of a field of all records, as tokens of a kind of text
Take = Callable[[list[Record], str, str], Texts]


@dataclass(frozen=True)
class MaskedBatch:
    """Masked documents of a batch, and what is to be predicted, if anything."""

    texts: Texts  # (batch, document length)
    wanted: Tokens | Tensor | None = None  # (batch, target length), or (batch, document length)
    count: float = 0.0  # tokens to predict, in the whole batch


class Read(NamedTuple):
    """What is read of some masked documents: embeddings, and states that tell wanted tokens."""

    embeddings: Tensor  # (rows, dim)
    states: Tensor  # (tokens, dim)
    wanted: Tensor  # (tokens,)


class Predictor(nn.Module):
    """How the entities of masked documents are predicted."""

    @abstractmethod
    def masked(self, records: list[Record], take: Take, *, predict: bool) -> MaskedBatch:
        """The masked documents of a batch, with what is to be predicted where `predict` is set."""

    @abstractmethod
    def wanted(self, wanted: Any, rows: Tensor, length: int) -> Any:
        """What is to be predicted for some rows, whose documents are `length` tokens long."""

    @abstractmethod
    def read(self, encoder: Encoder, states: Tensor, mask: Tensor, wanted: Any) -> Read:
        """What states (rows, length, dim) say."""

    @abstractmethod
    def loss(self, encoder: Encoder, states: Tensor, wanted: Tensor) -> Tensor:
        """The sum of the cross-entropies of the wanted tokens at their states, (tokens, dim)."""


class WrittenEntities(Predictor):
    """A decoder writes the target: `<extra_id_0> first <extra_id_1> second …` (SANTA, eq. 6-7)."""

    def masked(self, records: list[Record], take: Take, *, predict: bool) -> MaskedBatch:
        texts = take(records, "masked", "document")
        if not predict:
            return MaskedBatch(texts)
        targets = take(records, "target", "target").tokens  # (batch, target length)
        count = 0
        if targets is not None:
            own = records[share(len(records))]
            plain = [not entities_of(record["target"]) for record in own]
            targets.ids[plain] = IGNORED  # nothing is masked: the text is only aligned
            count = int(_real(targets).sum())
        return MaskedBatch(texts, targets, max(1, total(count)))

    def wanted(self, wanted: Tokens, rows: Tensor, length: int) -> Tokens:
        return wanted.shortened(rows)

    def read(self, encoder: Encoder, states: Tensor, mask: Tensor, wanted: Tokens) -> Read:
        model = encoder.model
        shifted = wanted.ids.roll(1, dims=1).clamp(min=0)  # (rows, target length)
        shifted[:, 0] = model.config.decoder_start_token_id
        decoded = decoder_states(model, shifted, states, mask)  # (rows, target length, dim)
        if encoder.pooling == "first-decoder-token":
            # position 0 has read the start token only: it is the embedding (eq. 1)
            embeddings = encoder.finished(decoded[:, 0])
        else:
            embeddings = encoder.pooled(states, mask)
        real = _real(wanted)  # (rows, target length)
        return Read(embeddings, decoded[real], wanted.ids[real])

    def loss(self, encoder: Encoder, states: Tensor, wanted: Tensor) -> Tensor:
        model = encoder.model
        if getattr(model.config, "scale_decoder_outputs", model.config.tie_word_embeddings):
            states = states * model.config.d_model**-0.5
        scores = model.lm_head(states)  # (tokens, vocabulary)
        return functional.cross_entropy(scores.float(), wanted, reduction="sum")


def _real(wanted: Tokens) -> Tensor:
    """Which tokens are predicted."""
    return wanted.mask.bool() & (wanted.ids != IGNORED)


class TokensInPlace(Predictor):
    """Without a decoder: the tokens of masked entities are predicted in place (SEAL)."""

    def __init__(self, encoder: Encoder, head: TokenHead) -> None:
        super().__init__()
        self.head = head
        self.masking = MaskedTokens(encoder.tokenizing)

    def masked(self, records: list[Record], take: Take, *, predict: bool) -> MaskedBatch:
        own = records[share(len(records))]
        tokens: Tokens | None = None
        labels: Tensor | None = None  # (batch, document length)
        if own:
            tokens, labels = self.masking.batch(
                [record["masked"] for record in own], [record["target"] for record in own]
            )
            device = self.head.bias.device
            tokens, labels = tokens.to(device), labels.to(device)
        texts = Texts(tokens, share(len(records)).start, len(records))
        if not predict:
            return MaskedBatch(texts)
        count = int((labels != IGNORED).sum()) if labels is not None else 0
        return MaskedBatch(texts, labels, max(1, total(count)))

    def wanted(self, wanted: Tensor, rows: Tensor, length: int) -> Tensor:
        return wanted[rows, :length]

    def read(self, encoder: Encoder, states: Tensor, mask: Tensor, wanted: Tensor) -> Read:
        chosen = wanted != IGNORED  # (rows, length)
        return Read(encoder.pooled(states, mask), states[chosen], wanted[chosen])

    def loss(self, encoder: Encoder, states: Tensor, wanted: Tensor) -> Tensor:
        table = encoder.model.get_input_embeddings().weight  # (vocabulary, dim)
        return self.head.loss(states, table, wanted)
