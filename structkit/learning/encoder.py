"""An encoder: a Hugging Face model, its tokenizer, and how its states become an embedding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from structkit.learning.pretrained import load_pretrained
from structkit.learning.scratch import new_model
from structkit.learning.settings import TrainingSettings
from structkit.learning.spool import Spool
from structkit.learning.tokenizer import train_tokenizer
from structkit.learning.tokens import Tokenizing, Tokens
from structkit.progress import say
from structkit.seeds import key

PIECE = 16  # texts a CPU takes at a time


def token_states(model: Any, tokens: Tokens) -> Tensor:
    """The last states of the encoder, (batch, length, dim)."""
    encoder = model.get_encoder() if model.config.is_encoder_decoder else model
    states: Tensor = encoder(input_ids=tokens.ids, attention_mask=tokens.mask).last_hidden_state
    return states


def decoder_states(model: Any, decoder_ids: Tensor, states: Tensor, mask: Tensor) -> Tensor:
    """The last states of the decoder, after its final layer norm, (batch, target length, dim)."""
    output = model.get_decoder()(
        input_ids=decoder_ids,
        encoder_hidden_states=states,
        encoder_attention_mask=mask,
        use_cache=False,
    )
    result: Tensor = output.last_hidden_state
    return result


def pool_cls(model: Any, states: Tensor, mask: Tensor) -> Tensor:
    """The state of the first token."""
    return states[:, 0]


def pool_mean(model: Any, states: Tensor, mask: Tensor) -> Tensor:
    """The mean state of the real tokens."""
    weights = mask.unsqueeze(-1).to(states.dtype)  # (batch, length, 1)
    return (states * weights).sum(1) / weights.sum(1)  # (batch, dim)


def pool_first_decoder_token(model: Any, states: Tensor, mask: Tensor) -> Tensor:
    """What the decoder makes of its start token (SANTA, eq. 1)."""
    start = mask.new_full((len(mask), 1), model.config.decoder_start_token_id)
    return decoder_states(model, start, states, mask)[:, 0]


Pooling = Callable[[Any, Tensor, Tensor], Tensor]
POOLINGS: dict[str, Pooling] = {
    "cls": pool_cls,
    "mean": pool_mean,
    "first-decoder-token": pool_first_decoder_token,
}


class Encoder(nn.Module):
    """A model from texts to embeddings.

    `lengths` holds the most tokens of each kind of text: query, document, and what a method adds.
    """

    def __init__(
        self, model: Any, tokenizer: Any, pooling: str, normalize: bool, lengths: dict[str, int]
    ) -> None:
        super().__init__()
        self.model = model
        self.pooling = pooling
        self.normalize = normalize
        self.tokenizing = Tokenizing(tokenizer, _possible(lengths, model.config))

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def tokens(self, texts: Sequence[str], kind: str) -> Tokens:
        return self.tokenizing.batch(texts, kind).to(self.device)

    def embed(self, tokens: Tokens) -> Tensor:
        """One embedding a text, (batch, dim)."""

        def embedded(rows: Tensor, piece: Tokens) -> Tensor:
            return self.pooled(token_states(self.model, piece), piece.mask)

        return self.in_pieces(tokens, embedded)

    def in_pieces(self, tokens: Tokens, compute: Callable[[Tensor, Tokens], Tensor]) -> Tensor:
        """What `compute(rows, piece)` makes of the texts, in their order, (batch, dim).

        In pieces of about equal lengths a CPU computes little padding and stays in its cache.
        """
        rows = tokens.mask.sum(1).argsort(descending=True, stable=True)  # (batch,)
        if self.device.type != "cpu" or len(rows) <= PIECE:
            return compute(torch.arange(len(rows), device=self.device), tokens)
        found = [compute(piece, tokens.shortened(piece)) for piece in torch.split(rows, PIECE)]
        return torch.cat(found)[rows.argsort()]

    def pooled(self, states: Tensor, mask: Tensor) -> Tensor:
        """Embeddings of states that are known already, (batch, dim)."""
        return self.finished(POOLINGS[self.pooling](self.model, states, mask))

    def finished(self, embeddings: Tensor) -> Tensor:
        embeddings = embeddings.float()
        return functional.normalize(embeddings, dim=-1) if self.normalize else embeddings

    def forward(self, tokens: Tokens) -> Tensor:
        return self.embed(tokens)


def build_encoder(
    settings: TrainingSettings,
    spool: Spool,
    *,
    offline: bool = False,
    head: bool = False,
    lengths: dict[str, int] | None = None,
) -> Encoder:
    """The encoder that a training starts from: `settings.model`, or a new one from scratch."""
    decoder = settings.pooling == "first-decoder-token"
    torch.manual_seed(key(settings.seed, "parameters") >> 1)
    if settings.model:
        model, tokenizer = load_pretrained(
            settings.model, decoder=decoder, head=head, offline=offline
        )
    else:
        fields = [*type(settings).needs, *type(settings).optional]
        tokenizer = train_tokenizer(
            spool.texts(fields),
            settings.vocabulary_size,
            split_identifiers=settings.split_identifiers,
            cls=settings.architecture == "bert",
        )
        model = new_model(
            settings.architecture, settings.size, tokenizer, decoder=decoder, head=head
        )
    limits = {"query": settings.query_length, "document": settings.document_length}
    return Encoder(model, tokenizer, settings.pooling, settings.normalize, limits | (lengths or {}))


def _possible(lengths: dict[str, int], config: Any) -> dict[str, int]:
    """The lengths, none beyond the model's positions."""
    most = getattr(config, "max_position_embeddings", None)
    if not most or config.is_encoder_decoder:
        return dict(lengths)
    if config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        most -= config.pad_token_id + 1  # their positions start after the padding's
    for kind, length in lengths.items():
        if length > most:
            say(f"the model reads at most {most} tokens: --{kind}-length {length} becomes {most}")
    return {kind: min(length, most) for kind, length in lengths.items()}
