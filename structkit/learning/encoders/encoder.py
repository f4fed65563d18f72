"""An encoder: a Hugging Face model, its tokenizer, and how its states become an embedding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from structkit.errors import UserError
from structkit.learning.encoders.packing import Packed, packed
from structkit.learning.encoders.padded import Tokens, padded
from structkit.learning.encoders.poolings import OF_TOKENS, pool_mcls
from structkit.learning.encoders.positions import positions, stretch_positions
from structkit.learning.encoders.pretrained import (
    DAMAGE,
    add_tokens,
    explained,
    load_pretrained,
)
from structkit.learning.encoders.scratch import new_model
from structkit.learning.encoders.settings import MCLS_EVERY, EncoderSettings
from structkit.learning.encoders.tokenizer import end_with_eos, train_tokenizer, without_tokens
from structkit.learning.folders.facts import own_facts
from structkit.learning.folders.hub import model_folder
from structkit.learning.training.module import TorchModel, seed_parameters
from structkit.learning.training.spool import Spool
from structkit.learning.training.tokens import Chunk, Tokenizing, TokenModel
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.structure.html.tags import TAG_TOKENS

PIECE = 16  # texts that a CPU computes at a time


def token_states(model: Any, tokens: Tokens) -> Tensor:
    """The last states of the encoder, (batch, length, dim)."""
    encoder = model.get_encoder() if model.config.is_encoder_decoder else model
    states: Tensor = encoder(input_ids=tokens.ids, attention_mask=tokens.mask).last_hidden_state
    return states


class Encoder(TokenModel, TorchModel):
    """A model from texts to embeddings.

    `lengths` holds the most tokens of each kind of text: query, document, and what a method adds;
    `prompts` what goes before a query or a document. Errors: `UserError` where the tokenizer lacks
    the token that the pooling needs.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        pooling: str,
        normalize: bool,
        lengths: dict[str, int],
        *,
        prompts: Mapping[str, str] | None = None,
        mcls_every: int = MCLS_EVERY,
    ) -> None:
        super().__init__()
        if pooling in ("cls", "mcls"):
            check_cls(tokenizer, pooling)
        self.model = model
        self.pooling, self.normalize, self.mcls_every = pooling, normalize, mcls_every
        most = positions(model)
        self.tokenizing = Tokenizing(
            tokenizer,
            _possible(lengths, most),
            prompts,
            mcls_every if pooling == "mcls" else None,
            plain=without_tokens(tokenizer, TAG_TOKENS),
            positions=most,
        )
        self.truncation = self.tokenizing.truncation

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def tokens(self, texts: Sequence[str], kind: str) -> Tokens:
        """Texts as one padded batch, on the model's device."""
        return self.padded(self.tokenizing.ids(texts, kind))

    def batch(self, inputs: Sequence[list[int] | Chunk]) -> Tokens:
        """Some inputs, padded, on the model's device."""
        ids = [each.ids if isinstance(each, Chunk) else each for each in inputs]
        return self.padded(ids)

    def padded(self, ids: Sequence[Sequence[int]]) -> Tokens:
        """Token ids as one batch, on the model's device."""
        return padded(ids, self.tokenizing.padding).to(self.device)

    def embed(self, tokens: Tokens) -> Tensor:
        """One embedding per text, (batch, dim); a CPU computes no padding."""
        first = self.pooling == "cls"

        def embedded(rows: Tensor, piece: Tokens) -> Tensor:
            return self.pooled(self.states(piece, first=first), piece.mask)

        if self.packed and not self.model.training and not torch.is_grad_enabled():
            return embedded(tokens.mask, tokens)
        return self.in_pieces(tokens, embedded)

    def states(self, tokens: Tokens, *, first: bool = False) -> Tensor:
        """The last states, (batch, length, dim); `first` needs only those of the first tokens."""
        if self.packed:
            return self.packed.states(tokens, first=first)
        return token_states(self.model, tokens)

    @property
    def packed(self) -> Packed | None:
        """The model computed without padding, on a CPU."""
        return self._packed if self.device.type == "cpu" else None

    @cached_property
    def _packed(self) -> Packed | None:
        """The same, if the model is of a kind for which this was checked."""
        return packed(self.model)

    def in_pieces(self, tokens: Tokens, compute: Callable[[Tensor, Tokens], Tensor]) -> Tensor:
        """What `compute(rows, piece)` makes of the texts, in their order, (batch, dim).

        In pieces of about equal lengths a CPU computes little padding and stays in its cache.
        """
        rows = tokens.mask.sum(1).argsort(stable=True)  # (batch,)
        if self.device.type != "cpu" or len(rows) <= PIECE:
            return compute(torch.arange(len(rows), device=self.device), tokens)
        with self.packed.of_batch(tokens.ids) if self.packed else nullcontext():
            pieces = torch.split(rows, PIECE)
            computed = [compute(piece, tokens.shortened(piece)) for piece in pieces]
        return torch.cat(computed)[rows.argsort()]

    def pooled(self, states: Tensor, mask: Tensor) -> Tensor:
        """The embeddings of given states, (batch, dim)."""
        if self.pooling == "mcls":
            embeddings = pool_mcls(states, mask, self.mcls_every, len(self.tokenizing.closing))
        else:
            embeddings = OF_TOKENS[self.pooling](self.model, states, mask)
        return self.finished(embeddings)

    def finished(self, embeddings: Tensor) -> Tensor:
        embeddings = embeddings.float()
        return functional.normalize(embeddings, dim=-1) if self.normalize else embeddings

    def forward(self, tokens: Tokens) -> Tensor:
        return self.embed(tokens)

    def facts(self) -> Record:
        """What a model folder must say to load the encoder as it is."""
        return {
            "pooling": self.pooling,
            "mcls_every": self.mcls_every,
            "normalize": self.normalize,
            "prompts": self.tokenizing.prompts,
            "lengths": self.tokenizing.lengths,
        }


def tried(encoder: Encoder, folder: Path) -> Encoder:
    """The encoder of a folder, after a first text, so that damaged files raise here."""
    try:
        with torch.inference_mode():
            encoder.embed(encoder.tokens(["a"], "query"))
    except DAMAGE as error:
        raise explained(folder, error) from None
    encoder.tokenizing.truncation.clear()
    return encoder


def build_encoder(
    settings: EncoderSettings,
    spool: Spool,
    *,
    offline: bool = False,
    head: bool = False,
    lengths: dict[str, int] | None = None,
    tags: bool = False,
) -> Encoder:
    """The encoder that a training starts from: `settings.model`, or a new one from scratch.

    The settings come from `settled`. `tags`: a tokenizer from scratch makes each structure tag one
    token, unless the settings say otherwise.
    """
    folder: Path | None = None
    pooling = settings.pooling
    assert pooling and settings.query_length and settings.document_length
    assert settings.mcls_every and settings.normalize is not None
    seed_parameters(settings.seed)
    if settings.model:
        folder = model_folder(settings.model, offline=offline)
        model, tokenizer = load_pretrained(
            own_facts(folder, pooling=pooling).get("transformer", folder),
            decoder=pooling == "first-decoder-token",
            head=head,
        )
        if pooling == "last-token":
            end_with_eos(tokenizer)
        if settings.tag_tokens:
            add_tokens(model, tokenizer, TAG_TOKENS)
        if settings.positions:
            stretch_positions(model, tokenizer, settings.positions)
    else:
        whole = tags if settings.tag_tokens is None else settings.tag_tokens
        model, tokenizer = _from_scratch(settings, spool, pooling, head, whole)
    prompts = {"query": settings.query_prompt, "document": settings.document_prompt}
    limits = {"query": settings.query_length, "document": settings.document_length}
    encoder = Encoder(
        model,
        tokenizer,
        pooling,
        settings.normalize,
        limits | (lengths or {}),
        prompts={side: prompt for side, prompt in prompts.items() if prompt},
        mcls_every=settings.mcls_every,
    )
    return tried(encoder, folder) if folder else encoder


def _from_scratch(
    settings: EncoderSettings, spool: Spool, pooling: str, head: bool, tags: bool
) -> tuple[Any, Any]:
    fields = [*settings.needs, *settings.optional]
    tokenizer = train_tokenizer(
        spool.texts(fields),
        settings.vocabulary_size,
        split_identifiers=settings.split_identifiers,
        cls=settings.architecture == "bert" or pooling in ("cls", "mcls"),
        whole=TAG_TOKENS if tags else (),
    )
    decoder = pooling == "first-decoder-token"
    return (
        new_model(
            settings.architecture,
            settings.size,
            tokenizer,
            positions=settings.positions,
            decoder=decoder,
            head=head,
        ),
        tokenizer,
    )


def check_cls(tokenizer: Any, pooling: str) -> None:
    """Raise if texts do not begin with a CLS token."""
    number = tokenizer.cls_token_id
    if number is None or tokenizer("a")["input_ids"][0] != number:
        raise UserError(
            f"the model puts no CLS token first, which --pooling {pooling} needs",
            "use --pooling mean, or last-token for a decoder-only model",
        )


def _possible(lengths: dict[str, int], most: int | None) -> dict[str, int]:
    """The lengths, limited to the model's positions."""
    if not most:
        return dict(lengths)
    for kind, length in lengths.items():
        if length > most:
            say(f"the model reads at most {most} tokens: --{kind}-length {length} becomes {most}")
    return {kind: min(length, most) for kind, length in lengths.items()}
