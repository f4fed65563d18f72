"""Poolings: how the states of a text's tokens become one embedding.

They are traced for an ONNX graph: there `len` of a tensor is a constant of the example, while
`shape` is that of each batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


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
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)  # (batch, dim)


def pool_last_token(model: Any, states: Tensor, mask: Tensor) -> Tensor:
    """The state of the last real token, wherever the padding is.

    >>> states = torch.tensor([[[1.0], [2.0], [3.0]], [[1.0], [2.0], [3.0]]])
    >>> pool_last_token(None, states, torch.tensor([[1, 1, 0], [0, 1, 1]])).tolist()
    [[2.0], [3.0]]
    """
    places = torch.arange(mask.shape[1], device=mask.device)
    last = (mask * places).argmax(1)  # (batch,)
    return states[torch.arange(states.shape[0], device=states.device), last]


def pool_first_decoder_token(model: Any, states: Tensor, mask: Tensor) -> Tensor:
    """The decoder's state for its start token (SANTA, eq. 1)."""
    start = mask.new_full((mask.shape[0], 1), model.config.decoder_start_token_id)
    return decoder_states(model, start, states, mask)[:, 0]


def pool_mcls(states: Tensor, mask: Tensor, every: int, closing: int) -> Tensor:
    """The mean state of the CLS tokens: the first token, and one after each `every` others.

    `closing` special tokens end a text; none of them is a CLS token. Source: SEAL, MCLS.

    >>> states = torch.tensor([[[1.0], [0.0], [0.0], [3.0], [0.0], [9.0]]])  # C a b C c S
    >>> pool_mcls(states, torch.ones(1, 6, dtype=torch.int64), 2, 1).tolist()
    [[2.0]]
    """
    chosen = states[:, :: every + 1]  # (batch, most CLS tokens, dim)
    places = torch.arange(0, mask.shape[1], every + 1, device=mask.device)
    real = places < (mask.sum(1, keepdim=True) - closing).clamp(min=1)  # (batch, most CLS tokens)
    weights = real.unsqueeze(-1).to(states.dtype)
    return (chosen * weights).sum(1) / weights.sum(1)  # (batch, dim)


Pooling = Callable[[Any, Tensor, Tensor], Tensor]
OF_TOKENS: dict[str, Pooling] = {
    "cls": pool_cls,
    "mean": pool_mean,
    "last-token": pool_last_token,
    "first-decoder-token": pool_first_decoder_token,
}
