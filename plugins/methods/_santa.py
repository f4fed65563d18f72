"""SANTA's losses and its model: what a batch is, entity prediction, alignment.

An encoder-decoder writes masked entities; an encoder alone predicts their tokens in place (source:
SEAL's baseline SANTA, section 4.1), and CLS takes the place of the decoder's first token.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModelForMaskedLM

from structkit.errors import UserError, flag
from structkit.learning.encoders.dual_encoder import (
    DualEncoder,
    check_contrast,
    negatives_of,
    stacked,
)
from structkit.learning.encoders.encoder import Encoder, build_encoder
from structkit.learning.encoders.grad_cache import Texts
from structkit.learning.encoders.models import DAMAGE, PLAIN, SAFE
from structkit.learning.encoders.packing import Tokens, padded
from structkit.learning.encoders.poolings import decoder_states
from structkit.learning.folders import model_folder, own_facts
from structkit.learning.training.autograd import vocabulary_loss
from structkit.learning.training.devices import share, total
from structkit.learning.training.settings import Step
from structkit.learning.training.spool import Spool
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.structure.sentinels import SENTINEL
from structkit.structure.spans import Span

if TYPE_CHECKING:
    from .santa import Method

IGNORED = -100  # what cross_entropy leaves out

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
            embeddings = encoder.normalized(decoded[:, 0])
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


class TokenHead(nn.Module):
    """Scores every token of the vocabulary for a state; its last layer is the embedding table."""

    def __init__(self, width: int, embeddings: nn.Embedding) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.bias = nn.Parameter(torch.zeros(embeddings.num_embeddings))
        nn.init.normal_(self.dense.weight, std=0.02)
        nn.init.zeros_(self.dense.bias)

    def forward(self, states: Tensor, table: Tensor) -> Tensor:
        """Scores, (tokens, vocabulary), of states, (tokens, dim)."""
        hidden = self.hidden(states)
        return functional.linear(hidden, table.to(hidden.dtype), self.bias.to(hidden.dtype))

    def hidden(self, states: Tensor) -> Tensor:
        """States, (tokens, dim), made comparable with the embeddings of the vocabulary."""
        transformed: Tensor = self.norm(functional.gelu(self.dense(states)))
        return transformed

    def loss(self, states: Tensor, table: Tensor, wanted: Tensor) -> Tensor:
        """The sum of the cross-entropies of states, (tokens, dim), for the wanted tokens.

        The scores of the vocabulary, (tokens, vocabulary), exist some rows at a time.
        """
        hidden = self.hidden(states)
        exact = torch.promote_types(hidden.dtype, torch.float32)
        hidden, table, bias = (each.to(exact) for each in (hidden, table, self.bias))
        if not len(hidden):
            return hidden.sum()
        with torch.autocast(hidden.device.type, enabled=False):
            one = torch.ones_like(wanted, dtype=hidden.dtype)
            return vocabulary_loss(hidden, table, bias, wanted, one)


class MaskedTokens:
    """Texts with entities as token ids in which the entities' tokens are masked."""

    def __init__(self, tokenizing: Any) -> None:
        self.tokenizing = tokenizing
        self.mask = tokenizing.tokenizer.mask_token_id

    def batch(self, masked: Sequence[str], targets: Sequence[str]) -> tuple[Tokens, Tensor]:
        """Tokens with masks, and the ids to predict, (batch, length), `IGNORED` elsewhere."""
        whole = [
            restored(text, entities_of(target))
            for text, target in zip(masked, targets, strict=True)
        ]
        tokenizing, length = self.tokenizing, self.tokenizing.lengths["document"]
        texts = [text for text, _ in whole]
        encoded = tokenizing.tokenizer(
            texts, truncation=True, max_length=length, return_offsets_mapping=True
        )
        cut = sum(bool(encoding.overflowing) for encoding in encoded.encodings)
        tokenizing.truncation.count("document", len(texts), cut)
        pairs = [
            self._masked(ids, offsets, spans)
            for ids, offsets, (_, spans) in zip(
                encoded["input_ids"], encoded["offset_mapping"], whole, strict=True
            )
        ]
        tokens = padded([ids for ids, _ in pairs], tokenizing.padding)
        labels = torch.full(tokens.ids.shape, IGNORED)
        for row, (_, wanted) in enumerate(pairs):
            labels[row, : len(wanted)] = torch.tensor(wanted)
        return tokens, labels

    def _masked(
        self, ids: list[int], offsets: list[Span], spans: list[Span]
    ) -> tuple[list[int], list[int]]:
        """Ids, masked wherever a token overlaps a span, and the ids that were there."""
        masked, wanted = list(ids), [IGNORED] * len(ids)
        at = 0
        for place, (start, end) in enumerate(offsets):
            while at < len(spans) and spans[at][1] <= start:
                at += 1
            if start < end and at < len(spans) and spans[at][0] < end:
                masked[place], wanted[place] = self.mask, ids[place]
        return masked, wanted


def entities_of(target: str) -> list[str]:
    """The entities of a target, in the order of their sentinels.

    >>> entities_of("<extra_id_0> add <extra_id_1> a b <extra_id_2>")
    ['add', 'a b']
    """
    return [piece.strip() for piece in SENTINEL.split(target)[2:-2:2]]


def restored(masked: str, entities: Sequence[str]) -> tuple[str, list[Span]]:
    """The text before masking, and where its entities are.

    Errors: a sentinel without an entity is a `UserError`.

    >>> restored("def <extra_id_0>(a): <extra_id_0>", ["f"])
    ('def f(a): f', [(4, 5), (10, 11)])
    """
    parts: list[str] = []
    spans: list[Span] = []
    at = length = 0
    for match in SENTINEL.finditer(masked):
        number = int(match[1])
        if number >= len(entities):
            raise UserError(
                f'field "masked" has {match[0]}, but "target" does not',
                "make both with structkit mask-entities",
            )
        before = masked[at : match.start()]
        length += len(before)
        spans.append((length, length + len(entities[number])))
        parts += before, entities[number]
        length += len(entities[number])
        at = match.end()
    return "".join([*parts, masked[at:]]), spans


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
        pieces: list[Read] = []

        def embedded(places: Tensor, piece: Tokens) -> Tensor:
            states = self.encoder.states(piece)  # (places, length, dim)
            own = self.predictor.wanted(wanted, places, piece.ids.shape[1])
            pieces.append(self.predictor.read(self.encoder, states, piece.mask, own))
            return pieces[-1].embeddings

        embeddings = self.encoder.in_pieces(tokens, embedded)
        states = torch.cat([each.states for each in pieces])  # (tokens, dim)
        labels = torch.cat([each.wanted for each in pieces])  # (tokens,)
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


def build(method: Method, spool: Spool, offline: bool) -> Santa:
    """The training that the settings ask for, with or without a decoder."""
    negatives = negatives_of(method, spool) if method.alignment_weight else 0
    if method.alignment_weight:
        check_contrast(spool, method, negatives)
    if encoder_only(method, offline):
        return in_place(method, spool, negatives, offline)
    assert method.target_length
    encoder = build_encoder(
        method, spool, offline=offline, head=True, lengths={"target": method.target_length}
    )
    if method.reads_masked:
        check_sentinels(encoder.tokenizing.tokenizer)
    return Santa(method, encoder, negatives, WrittenEntities())


def encoder_only(settings: Method, offline: bool) -> bool:
    """Whether the model has no decoder; one that cannot be loaded counts as having one."""
    if settings.model is None:
        return settings.architecture == "bert"
    try:
        config = AutoConfig.from_pretrained(_transformer(settings.model, offline), **PLAIN)
    except DAMAGE:
        return False  # loading it says what is wrong
    return not config.is_encoder_decoder


def in_place(settings: Method, spool: Spool, negatives: int, offline: bool) -> Santa:
    """The variant for an encoder alone, which predicts masked tokens in place."""
    settings = settings.without_decoder()
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
            f"use a T5 model such as CodeT5, or {align_alone()}",
        )


def check_mask(tokenizer: Any) -> None:
    """Raise if entities cannot be masked."""
    if tokenizer.mask_token_id is None:
        raise UserError(
            "the model's tokenizer has no mask token",
            f"use a BERT-like model, or {align_alone()}",
        )


def token_head(model: Any, name: str | None, *, offline: bool) -> TokenHead:
    """The head for a model: the one in its folder if it is a BERT's, otherwise a new one."""
    embeddings = model.get_input_embeddings()
    head = TokenHead(model.config.hidden_size, embeddings)
    if name is None:
        return head
    bert = model.config.model_type == "bert"
    known = _pretrained_head(_transformer(name, offline)) if bert else None
    if known is None:
        say(f"the model {name} has no head for masked tokens: a new one is added")
        return head
    transform = known.transform
    head.dense.load_state_dict(transform.dense.state_dict())
    head.norm.load_state_dict(transform.LayerNorm.state_dict())
    head.norm.eps = transform.LayerNorm.eps
    head.bias.data.copy_(known.bias.data)
    return head


def _pretrained_head(folder: Path) -> Any:
    """A BERT's own head for masked tokens, if its folder has the weights."""
    full, loading = AutoModelForMaskedLM.from_pretrained(folder, **SAFE, output_loading_info=True)
    missing = any("predictions.transform" in key for key in loading["missing_keys"])
    return None if missing else full.cls.predictions


def _transformer(name: str, offline: bool) -> Path:
    """The folder of the model itself."""
    folder = model_folder(name, offline=offline)
    place: Path = own_facts(folder).get("transformer", folder)
    return place


def align_alone() -> str:
    """The remedy for a model that cannot predict entities."""
    return f"align alone: {flag('entity_weight', 0)} {flag('align_on', 'original')}"
