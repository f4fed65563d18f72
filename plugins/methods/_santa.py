"""SANTA's losses and its model: batches, entity prediction, alignment.

An encoder-decoder writes masked entities; an encoder alone predicts their tokens in place (source:
SEAL's baseline SANTA, section 4.1), and CLS replaces the decoder's first token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModelForMaskedLM

from structkit.errors import UserError, flag, program
from structkit.learning.encoders.dual_encoder import (
    DualEncoder,
    LocalTexts,
    Pairs,
    build_encoder,
    check_contrast,
    count_negatives,
    false_negatives,
    interleave,
    spread,
)
from structkit.learning.encoders.encoder import Encoder
from structkit.learning.encoders.models import state_width
from structkit.learning.encoders.poolings import Tokens, decoder_states, pad_tokens
from structkit.learning.encoders.pretrained import DAMAGE_ERRORS, LOCAL_ONLY, LOCAL_SAFETENSORS
from structkit.learning.encoders.settings import EncoderSettings
from structkit.learning.folders import model_folder
from structkit.learning.metadata import own_metadata
from structkit.learning.training.autograd import vocabulary_loss
from structkit.learning.training.data import Spool, Step
from structkit.learning.training.devices import share, total
from structkit.learning.training.trainer import LossParts, LossReader
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.structure import Span
from structkit.structure.sentinels import SENTINEL

IGNORED_LABEL = -100  # label that cross_entropy ignores

# this process's share of a field of all records, as tokens of a kind of text
Tokenize = Callable[[list[Record], str, str], LocalTexts]


class HeadOutput(NamedTuple):
    """Embeddings of some masked documents, and hidden states with the labels to predict."""

    embeddings: Tensor  # (rows, dim)
    hidden_states: Tensor  # (tokens, dim)
    labels: Tensor  # (tokens,)


class DecoderHead(nn.Module):
    """A decoder writes the target: `<extra_id_0> first <extra_id_1> second …` (SANTA, eq. 6-7)."""

    def batch(
        self, records: list[Record], tokenize: Tokenize, *, predict: bool
    ) -> tuple[LocalTexts, Tokens | None]:
        """Return the masked documents of a batch, and their labels if `predict` is set."""
        texts = tokenize(records, "masked", "document")
        targets = tokenize(records, "target", "target").tokens if predict else None
        if targets is not None:  # (batch, target length)
            local = records[share(len(records))]
            is_plain = [not entities_of(record["target"]) for record in local]
            targets.ids[is_plain] = IGNORED_LABEL  # nothing is masked: the text is only aligned
        return texts, targets

    def output(
        self, encoder: Encoder, hidden_states: Tensor, tokens: Tokens, labels: Tokens
    ) -> HeadOutput:
        """Return the embeddings and predictions of hidden states (rows, length, dim)."""
        model = encoder.model
        shifted = labels.ids.roll(1, dims=1).clamp(min=0)  # (rows, target length)
        shifted[:, 0] = model.config.decoder_start_token_id
        # (rows, target length, dim)
        decoded = decoder_states(model, shifted, hidden_states, tokens.mask)
        if encoder.pooling == "first-decoder-token":
            # position 0 has read the start token only: it is the embedding (eq. 1)
            embeddings = encoder.finish(decoded[:, 0])
        else:
            embeddings = encoder.pooled(hidden_states, tokens)
        real = _predicted(labels)  # (rows, target length)
        return HeadOutput(embeddings, decoded[real], labels.ids[real])

    def loss(self, encoder: Encoder, hidden_states: Tensor, labels: Tensor) -> Tensor:
        """Return the summed cross-entropy of labels (tokens,) at states (tokens, dim)."""
        model = encoder.model
        if getattr(model.config, "scale_decoder_outputs", model.config.tie_word_embeddings):
            hidden_states = hidden_states * model.config.d_model**-0.5
        scores = model.lm_head(hidden_states)  # (tokens, vocabulary)
        return functional.cross_entropy(scores.float(), labels, reduction="sum")


def _predicted(labels: Tokens) -> Tensor:
    """Return which tokens are predicted."""
    return labels.mask.bool() & (labels.ids != IGNORED_LABEL)


class MaskedLanguageHead(nn.Module):
    """Without a decoder: the tokens of masked entities are predicted in place (SEAL)."""

    def __init__(self, encoder: Encoder, head: PredictionHead) -> None:
        super().__init__()
        self.head, self.tokenizing = head, encoder.tokenizing
        self.mask = encoder.tokenizer.mask_token_id

    def batch(
        self, records: list[Record], tokenize: Tokenize, *, predict: bool
    ) -> tuple[LocalTexts, Tokens | None]:
        rows = share(len(records))
        local, first = records[rows], rows.start
        if not local:
            return LocalTexts(None, first, len(records)), None
        tokens, labels = self.tokens(
            [restore(record["masked"], record["target"]) for record in local]
        )
        return LocalTexts(tokens, first, len(records)), labels if predict else None

    def tokens(self, restored: Sequence[tuple[str, list[Span]]]) -> tuple[Tokens, Tokens]:
        """Return texts with masked spans, and their tokens, (batch, length), or `IGNORED_LABEL`."""
        tokenizing = self.tokenizing
        prompt = tokenizing.prompts.get("document", "")
        texts = [prompt + text for text, _ in restored]
        encoded = list(tokenizing.encode_texts(texts, "document", offsets=True))
        truncated = sum(bool(encoding.overflowing) for encoding in encoded)
        tokenizing.truncation.count("document", len(texts), truncated)
        tokens = pad_tokens([encoding.ids for encoding in encoded], tokenizing.padding)
        labels = torch.full(tokens.ids.shape, IGNORED_LABEL)
        for row, (_, spans) in enumerate(restored):
            shifted = [(start + len(prompt), end + len(prompt)) for start, end in spans]
            places = overlapping(encoded[row].offsets, shifted)
            labels[row, places] = tokens.ids[row, places]
            tokens.ids[row, places] = self.mask
        return tokens, replace(tokens, ids=labels)

    def output(
        self, encoder: Encoder, hidden_states: Tensor, tokens: Tokens, labels: Tokens
    ) -> HeadOutput:
        real, embeddings = _predicted(labels), encoder.pooled(hidden_states, tokens)
        return HeadOutput(embeddings, hidden_states[real], labels.ids[real])

    def loss(self, encoder: Encoder, hidden_states: Tensor, labels: Tensor) -> Tensor:
        table = encoder.model.get_input_embeddings().weight  # (vocabulary, dim)
        return self.head.loss(hidden_states, table, labels)


class PredictionHead(nn.Module):
    """Scores every token of the vocabulary for a state; its last layer is the embedding table."""

    def __init__(self, width: int, embeddings: nn.Embedding) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.bias = nn.Parameter(torch.zeros(embeddings.num_embeddings))
        nn.init.normal_(self.dense.weight, std=0.02)
        nn.init.zeros_(self.dense.bias)

    def loss(self, hidden_states: Tensor, table: Tensor, labels: Tensor) -> Tensor:
        """Return the summed cross-entropy of states (tokens, dim) for labels (tokens,).

        The scores of the vocabulary, (tokens, vocabulary), exist some rows at a time.
        """
        hidden: Tensor = self.norm(functional.gelu(self.dense(hidden_states)))
        exact = torch.promote_types(hidden.dtype, torch.float32)
        hidden, table, bias = (tensor.to(exact) for tensor in (hidden, table, self.bias))
        if not len(hidden):
            return hidden.sum()
        with torch.autocast(hidden.device.type, enabled=False):
            weights = torch.ones_like(labels, dtype=hidden.dtype)
            return vocabulary_loss(hidden, table, bias, labels, weights)


def overlapping(offsets: Sequence[Span], spans: Sequence[Span]) -> list[int]:
    """Return the places of the tokens that overlap a span; both are in order.

    >>> overlapping([(0, 0), (0, 3), (4, 5), (5, 7), (7, 9)], [(4, 6), (8, 9)])
    [2, 3, 4]
    """
    places, span = [], 0
    for place, (start, end) in enumerate(offsets):
        while span < len(spans) and spans[span][1] <= start:
            span += 1
        if start < end and span < len(spans) and spans[span][0] < end:
            places.append(place)
    return places


def entities_of(target: str) -> list[str]:
    """Return the entities of a target, in the order of their sentinels.

    >>> entities_of("<extra_id_0> add <extra_id_1> a b <extra_id_2>")
    ['add', 'a b']
    """
    return [piece.strip() for piece in SENTINEL.split(target)[2:-2:2]]


def restore(masked: str, target: str) -> tuple[str, list[Span]]:
    """Return the text before masking, and the places of its entities.

    Errors: a sentinel without an entity is a `UserError`.

    >>> restore("def <extra_id_0>(a): <extra_id_0>", "<extra_id_0> f <extra_id_1>")
    ('def f(a): f', [(4, 5), (10, 11)])
    """
    entities = entities_of(target)
    text, spans, end = "", list[Span](), 0
    for match in SENTINEL.finditer(masked):
        number = int(match[1])
        if number >= len(entities):
            raise UserError(
                f'field "masked" has {match[0]}, but "target" does not',
                f"make both with {program('mask-entities')}",
            )
        text += masked[end : match.start()]
        spans.append((len(text), len(text) + len(entities[number])))
        text += entities[number]
        end = match.end()
    return text + masked[end:], spans


@dataclass(frozen=True)
class Inputs(Pairs):
    """Batch: masked documents, originals, negatives, queries; `present` is of the negatives."""

    labels: Tokens | None = None  # (batch, target length), or (batch, document length)
    count: float = 0.0  # tokens to predict: of this process, then of the whole batch


class Santa(DualEncoder):
    """Both losses of SANTA, from one pass over the masked documents where that is possible."""

    settings: Any  # of the method `santa`

    def __init__(
        self,
        settings: Any,
        encoder: Encoder,
        negatives: int,
        predictor: DecoderHead | MaskedLanguageHead,
    ) -> None:
        super().__init__(settings, encoder, negatives)
        self.predictor = predictor

    def batch(self, records: list[Record], step: Step) -> Inputs:
        settings = self.settings
        align = settings.alignment_weight > 0
        predict = settings.entity_weight > 0
        queries = [record["query"] for record in records]
        texts: dict[str, LocalTexts] = {}
        labels = None
        if reads_masked(settings):
            texts["masked"], labels = self.predictor.batch(records, self.field, predict=predict)
        documents = self.documents(records, step)
        negatives = [text for place, text in enumerate(documents) if place % (1 + self.negatives)]
        if align and settings.align_on == "original":
            texts["originals"] = self.field(records, "positive", "document")
        if align and negatives:
            texts["negatives"] = self.local_texts(negatives, len(records), "document")
        if align:
            texts["queries"] = self.local_texts(queries, len(records), "query")
        exclude = false_negatives(queries, documents) if align else None
        teacher = self.teacher(records, step) if align else None
        count = 0 if labels is None else int(_predicted(labels).sum())
        return Inputs(texts, exclude, self.document_mask(negatives), teacher, labels, count)

    def field(self, records: list[Record], name: str, kind: str) -> LocalTexts:
        """Return this process's share of a field."""
        return self.local_texts([record[name] for record in records], len(records), kind)

    def embedded(self, inputs: Inputs, name: str, rows: Tensor) -> tuple[Tensor, LossParts]:
        masked = inputs.texts[name].tokens
        if name != "masked" or masked is None or inputs.labels is None:
            return super().embedded(inputs, name, rows)
        tokens, labels = masked.shortened(rows), inputs.labels.shortened(rows)
        pieces: list[HeadOutput] = []

        def embed_piece(piece_rows: Tensor, piece: Tokens) -> Tensor:
            hidden_states = self.encoder.hidden_states(piece)  # (places, length, dim)
            piece_labels = labels.shortened(piece_rows)
            pieces.append(self.predictor.output(self.encoder, hidden_states, piece, piece_labels))
            return pieces[-1].embeddings

        embeddings = self.encoder.in_pieces(tokens, embed_piece)
        hidden_states = torch.cat([piece.hidden_states for piece in pieces])  # (tokens, dim)
        ids = torch.cat([piece.labels for piece in pieces])  # (tokens,)
        entity = self.predictor.loss(self.encoder, hidden_states, ids)
        return embeddings, {"entity": entity / max(1, inputs.count)}

    def backward(self, inputs: Inputs) -> LossReader:
        if "masked" in inputs.texts:
            inputs = replace(inputs, count=total(inputs.count))
        return super().backward(inputs)

    def objective(self, inputs: Inputs, embeddings: dict[str, Tensor]) -> tuple[Tensor, LossParts]:
        if "queries" not in embeddings:
            return torch.zeros((), device=self.encoder.device), {}
        name = "originals" if "originals" in embeddings else "masked"
        positives = embeddings[name]  # (batch, dim)
        negatives = embeddings.get("negatives")
        if negatives is not None:
            negatives = spread(negatives, inputs.present)
        documents = interleave(positives, negatives)  # (batch * (1 + n), dim)
        alignment = self.contrast(embeddings["queries"], documents, inputs)
        return self.settings.alignment_weight * alignment, {"alignment": alignment.detach()}

    def weights(self) -> dict[str, float]:
        weight = self.settings.entity_weight
        return {"entity": weight} if weight else {}


def reads_masked(settings: Any) -> bool:
    """Return whether a loss needs the masked documents."""
    return bool(settings.entity_weight) or settings.align_on == "masked"


def build_santa(settings: Any, spool: Spool) -> Santa:
    """Return the training for the settings, with or without a decoder."""
    negatives = count_negatives(settings, spool) if settings.alignment_weight else 0
    if settings.alignment_weight:
        check_contrast(spool, settings, negatives)
    in_place = encoder_only(settings)
    if in_place and settings.pooling == "first-decoder-token":
        say("the model has no decoder: pooling is cls, and masked tokens are predicted in place")
        settings = replace(settings, pooling="cls")
    lengths = {} if in_place else {"target": settings.target_length or 0}
    encoder = build_encoder(settings, spool, head=not in_place, lengths=lengths)
    if reads_masked(settings):
        check_tokens(encoder.tokenizer, in_place)
    predictor = (
        MaskedLanguageHead(encoder, prediction_head(settings, encoder.model))
        if in_place
        else DecoderHead()
    )
    return Santa(settings, encoder, negatives, predictor)


def encoder_only(settings: EncoderSettings) -> bool:
    """Return whether the model has no decoder; one that cannot be loaded counts as having one."""
    if settings.model is None:
        return settings.architecture == "bert"
    try:
        config = AutoConfig.from_pretrained(_transformer(settings.model), **LOCAL_ONLY)
    except DAMAGE_ERRORS:
        return False  # loading it raises the error
    return not config.is_encoder_decoder


def check_tokens(tokenizer: Any, in_place: bool) -> None:
    """Raise if the tokenizer has no token for an entity, or would split it."""
    if in_place:
        is_known = tokenizer.mask_token_id is not None
        token = "mask token"
        model = "BERT-like model"
    else:
        number = tokenizer.convert_tokens_to_ids("<extra_id_0>")
        is_known = number not in (None, tokenizer.unk_token_id)
        token = "sentinels <extra_id_0> …"
        model = "T5 model such as CodeT5"
    if not is_known:
        flags = f"{flag('entity_weight', 0)} {flag('align_on', 'original')}"
        raise UserError(
            f"the model's tokenizer has no {token}", f"use a {model}, or align alone: {flags}"
        )


def prediction_head(settings: Any, model: Any) -> PredictionHead:
    """Return the head for a model: its start model's if that is a BERT, otherwise a new one."""
    head = PredictionHead(state_width(model), model.get_input_embeddings())
    start = settings.model
    if not start or not settings.entity_weight:
        return head
    if model.config.model_type == "bert":
        folder = _transformer(start)
        full, loading = AutoModelForMaskedLM.from_pretrained(
            folder, **LOCAL_SAFETENSORS, output_loading_info=True
        )
        if not any("predictions.transform" in key for key in loading["missing_keys"]):
            pretrained = full.cls.predictions
            head.dense.load_state_dict(pretrained.transform.dense.state_dict())
            head.norm.load_state_dict(pretrained.transform.LayerNorm.state_dict())
            head.norm.eps = pretrained.transform.LayerNorm.eps
            head.bias.data.copy_(pretrained.bias.data)
            return head
    say(f"the model {start} has no head for masked tokens: a new one is added")
    return head


def _transformer(name: str) -> Path:
    """Return the folder of the model itself."""
    folder = model_folder(name, offline=True)
    transformer: Path = own_metadata(folder).get("transformer", folder)
    return transformer
