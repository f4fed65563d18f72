"""Packed inference: BERT and its like compute the real tokens of a batch, and no padding."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from structkit.learning.tokens import Tokens

MODELS = ("BertModel", "RobertaModel", "XLMRobertaModel", "CamembertModel")
ERROR = 1e-5  # of the largest state


class Packed:
    """A model of one of the kinds `MODELS`, in inference, by its own weights.

    Embeddings, linear maps and layer norms run over the tokens of all texts, one after the other;
    attention runs over texts of equal length together, without a mask.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.heads = model.config.num_attention_heads

    def states(self, tokens: Tokens) -> Tensor:
        """The last states of the encoder, (batch, length, dim); 0 on padding."""
        real = tokens.mask.bool()
        states = self._embedded(tokens, real)  # (tokens, dim)
        runs = equal_lengths(tokens.mask.sum(1).tolist())
        for layer in self.model.encoder.layer:
            states = self._layer(layer, states, runs)
        found = states.new_zeros((*real.shape, states.shape[1]))
        found[real] = states
        return found

    def _embedded(self, tokens: Tokens, real: Tensor) -> Tensor:
        own = self.model.embeddings
        if type(self.model).__name__ == "BertModel":
            places = torch.arange(real.shape[1]).expand(real.shape)
        else:  # their positions are counted from behind the padding's, without padding tokens
            padding = self.model.config.pad_token_id
            counted = tokens.ids.ne(padding) & real
            places = counted.cumsum(1) * counted + padding
        states = own.word_embeddings(tokens.ids[real])
        states += own.token_type_embeddings.weight[0]
        states += own.position_embeddings(places[real])
        found: Tensor = own.LayerNorm(states)
        return found

    def _layer(self, layer: Any, states: Tensor, runs: list[tuple[int, int]]) -> Tensor:
        attention = layer.attention
        seen = self._attended(attention.self, states, runs)
        states = attention.output.LayerNorm(added(attention.output.dense, seen, states))
        inner = layer.intermediate(states)  # (tokens, inner dim)
        found: Tensor = layer.output.LayerNorm(added(layer.output.dense, inner, states))
        return found  # (tokens, dim)

    def _attended(self, own: Any, states: Tensor, runs: list[tuple[int, int]]) -> Tensor:
        parts = own.query(states), own.key(states), own.value(states)
        found, start = [], 0
        for length, count in runs:
            rows = slice(start, start + length * count)
            start = rows.stop
            # (texts, heads, length, dim / heads)
            query, key, value = (
                each[rows].view(count, length, self.heads, -1).transpose(1, 2) for each in parts
            )
            seen = functional.scaled_dot_product_attention(query, key, value)
            found.append(seen.transpose(1, 2).reshape(count * length, -1))
        return torch.cat(found)


def added(dense: nn.Linear, inputs: Tensor, states: Tensor) -> Tensor:
    """The states plus a linear map of the inputs, in the memory of the states.

    The product adds to what stands there: neither the bias nor the sum costs a pass of its own.
    """
    if torch.is_autocast_enabled(inputs.device.type):
        found: Tensor = dense(inputs) + states
        return found
    return states.add_(dense.bias).addmm_(inputs, dense.weight.T)


def packed(model: Any) -> Packed | None:
    """The model packed, or nothing where its kind or its states are not as they are expected.

    Both ways compute a small sample, and no state may differ by more than `ERROR`.
    """
    if type(model).__name__ not in MODELS or model.config.is_decoder:
        return None
    outputs = [part.output for layer in model.encoder.layer for part in (layer, layer.attention)]
    if any(type(output.dense) is not nn.Linear for output in outputs):
        return None  # an adapter, or numbers of another kind
    lengths = torch.tensor([9, 5, 5, 1])
    mask = (torch.arange(9) < lengths[:, None]).long()  # (4, 9)
    padding = model.config.pad_token_id or 0
    ids = (torch.arange(36).view(4, 9) + padding + 1) % model.config.vocab_size
    tokens = Tokens(torch.where(mask.bool(), ids, padding), mask)
    found = Packed(model)
    with torch.autocast("cpu", enabled=False), torch.no_grad():
        expected = model(input_ids=tokens.ids, attention_mask=mask).last_hidden_state
        error = (found.states(tokens) - expected)[mask.bool()].abs().max()
    return found if error <= ERROR * expected.abs().max() else None


def equal_lengths(lengths: list[int]) -> list[tuple[int, int]]:
    """Lengths that stand side by side, and how many texts have each.

    >>> equal_lengths([5, 5, 2])
    [(5, 2), (2, 1)]
    """
    return [(length, len(list(run))) for length, run in groupby(lengths)]
