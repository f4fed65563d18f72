"""Masked-token prediction for encoder-only models: entities are masked, their tokens predicted.

Source: SEAL's baseline SANTA, section 4.1: its masked entity prediction for encoder-only models.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModelForMaskedLM

from structkit.errors import UserError
from structkit.learning.encoders.padded import Tokens, padded
from structkit.learning.encoders.pretrained import DAMAGE, PLAIN, SAFE
from structkit.learning.folders.facts import own_facts
from structkit.learning.folders.hub import model_folder
from structkit.learning.strae.losses import vocabulary_loss
from structkit.progress import say
from structkit.structure.code.sentinels import SENTINEL
from structkit.structure.code.spans import Span

IGNORED = -100  # what cross_entropy leaves out


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
        tokenizing.truncation.texts["document"] += len(texts)
        tokenizing.truncation.truncated["document"] += sum(
            bool(encoding.overflowing) for encoding in encoded.encodings
        )
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


def has_decoder(name: str, *, offline: bool = False) -> bool:
    """Whether a model has a decoder; one that cannot be loaded counts as having one."""
    try:
        config = AutoConfig.from_pretrained(_transformer(name, offline), **PLAIN)
    except DAMAGE:
        return True  # loading it says what is wrong
    return bool(config.is_encoder_decoder)


def _transformer(name: str, offline: bool) -> Path:
    """The folder of the model itself."""
    folder = model_folder(name, offline=offline)
    place: Path = own_facts(folder).get("transformer", folder)
    return place


def check_mask(tokenizer: Any) -> None:
    """Raise if entities cannot be masked."""
    if tokenizer.mask_token_id is None:
        raise UserError(
            "the model's tokenizer has no mask token",
            "use a BERT-like model, or align alone: --entity-weight 0 --align-on original",
        )


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
