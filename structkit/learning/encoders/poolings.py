"""Batches of tokens, and poolings of the states of a text's tokens into one embedding.

Poolings are traced for an ONNX graph: there `len` of a tensor is a constant of the example, while
`shape` belongs to each batch. Tests: tests/learning/encoders/test_encoders.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from structkit.learning.tokens import pad_ids
from structkit.learning.training.devices import ON_CPU


@dataclass(frozen=True)
class Tokens:
    """A batch of token ids and its mask, both (batch, length); the mask is 1 on real tokens.

    `known` is the real tokens of each text, (batch,), on the CPU.
    """

    ids: Tensor
    mask: Tensor
    known: Tensor | None = field(default=None, metadata=ON_CPU)

    @property
    def lengths(self) -> Tensor:
        """The real tokens of each text, (batch,), on the CPU: reading them waits for no GPU."""
        return self.mask.sum(1).cpu() if self.known is None else self.known

    def to(self, device: torch.device) -> Tokens:
        return Tokens(self.ids.to(device), self.mask.to(device), self.lengths)

    def shortened(self, rows: Tensor) -> Tokens:
        """Return some rows, which are on the CPU, only as wide as their longest text."""
        rows = rows.cpu()  # where FSDP has moved them
        lengths = self.lengths[rows]
        width, there = int(lengths.max()), rows.to(self.ids.device)
        return Tokens(self.ids[there, :width], self.mask[there, :width], lengths)


def pad_tokens(inputs: Sequence[Sequence[int]], padding: int) -> Tokens:
    """Return token ids as one batch, as wide as its longest text."""
    ids, mask = map(torch.from_numpy, pad_ids(inputs, padding))
    return Tokens(ids, mask, mask.sum(1))


# to which a mask of all pairs of tokens means no more than one of tokens
PAIR_MASK_MODELS = ("bert", "camembert", "roberta", "t5", "xlm-roberta")


def attention_mask(model: Any, mask: Tensor, asking: int) -> Tensor:
    """Return the attention mask of a model for `asking` tokens over those of `mask`.

    On a GPU it covers all pairs of tokens if the model accepts these, (batch, 1, asking, length):
    transformers would wait for the GPU to see whether there is any padding.
    """
    config = model.config
    if mask.device.type == "cpu" or config.model_type not in PAIR_MASK_MODELS:
        return mask
    if config._attn_implementation != "sdpa":
        return mask
    return mask.bool()[:, None, None].expand(-1, 1, asking, -1)


def decoder_states(model: Any, decoder_ids: Tensor, hidden_states: Tensor, mask: Tensor) -> Tensor:
    """Return the decoder's last states after its layer norm, (batch, target length, dim)."""
    output = model.get_decoder()(
        input_ids=decoder_ids,
        encoder_hidden_states=hidden_states,
        encoder_attention_mask=attention_mask(model, mask, decoder_ids.shape[1]),
        use_cache=False,
    )
    result: Tensor = output.last_hidden_state
    return result


def pool_cls(hidden_states: Tensor, mask: Tensor) -> Tensor:
    """Return the state of the first token."""
    return hidden_states[:, 0]


def pool_mean(hidden_states: Tensor, mask: Tensor) -> Tensor:
    """Return the mean state of the real tokens."""
    weights = mask.unsqueeze(-1).to(hidden_states.dtype)  # (batch, length, 1)
    return (hidden_states * weights).sum(1) / weights.sum(1).clamp(min=1)  # (batch, dim)


def pool_last_token(hidden_states: Tensor, mask: Tensor) -> Tensor:
    """Return the state of the last real token before the padding; zeros if there is none.

    >>> hidden_states = torch.tensor([[[1.0], [2.0], [3.0]], [[1.0], [2.0], [3.0]]])
    >>> pool_last_token(hidden_states, torch.tensor([[1, 1, 0], [0, 0, 0]])).tolist()
    [[2.0], [0.0]]
    """
    rows = torch.arange(hidden_states.shape[0], device=hidden_states.device)
    last = (mask.sum(1) - 1).clamp(min=0)  # (batch,)
    return hidden_states[rows, last] * mask[rows, last].unsqueeze(-1).to(hidden_states.dtype)


def pool_first_decoder_token(model: Any, hidden_states: Tensor, mask: Tensor) -> Tensor:
    """Return the decoder's state for its start token (SANTA, eq. 1)."""
    start = mask.new_full((mask.shape[0], 1), model.config.decoder_start_token_id)
    return decoder_states(model, start, hidden_states, mask)[:, 0]


def pool_mcls(hidden_states: Tensor, mask: Tensor, every: int, closing: int) -> Tensor:
    """Return the mean state of the CLS tokens: the first, and one after each `every`.

    `closing` special tokens end a text; none of them is a CLS token. Source: SEAL, MCLS.

    >>> hidden_states = torch.tensor([[[1.0], [0.0], [0.0], [3.0], [0.0], [9.0]]])  # C a b C c S
    >>> pool_mcls(hidden_states, torch.ones(1, 6, dtype=torch.int64), 2, 1).tolist()
    [[2.0]]
    """
    chosen = hidden_states[:, :: every + 1]  # (batch, most CLS tokens, dim)
    places = torch.arange(0, mask.shape[1], every + 1, device=mask.device)
    real = places < (mask.sum(1, keepdim=True) - closing).clamp(min=1)  # (batch, most CLS tokens)
    weights = real.unsqueeze(-1).to(hidden_states.dtype)
    return (chosen * weights).sum(1) / weights.sum(1)  # (batch, dim)


# states (batch, length, dim) and their mask (batch, length), to (batch, dim)
Pooling = Callable[[Tensor, Tensor], Tensor]
TOKEN_POOLINGS: dict[str, Pooling] = {
    "cls": pool_cls,
    "mean": pool_mean,
    "last-token": pool_last_token,
}
