"""Batches without padding, in which BERT and similar models compute on a CPU."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from structkit.learning.encoders.poolings import Tokens

PACKED_MODELS = ("BertModel", "RobertaModel", "XLMRobertaModel", "CamembertModel")
MAX_RELATIVE_ERROR = 1e-5  # of the largest state


class Packed:
    """A model of one of the kinds `PACKED_MODELS`, with its own weights and dropout.

    Embeddings, linear maps and layer norms see the tokens of all texts as one sequence.
    Attention runs over texts of equal length together and needs no mask.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.heads = model.config.num_attention_heads
        self.rows: tuple[Tensor, Tensor] | None = None

    @contextmanager
    def of_batch(self, ids: Tensor) -> Iterator[None]:
        """Look up the word embeddings of a batch's tokens once, for all chunks of texts.

        The gradient of each look-up is as large as the whole table.
        """
        used = torch.unique(ids)
        self.rows = used, self.model.embeddings.word_embeddings(used)
        try:
            yield
        finally:
            self.rows = None

    def hidden_states(self, tokens: Tokens, *, first: bool = False) -> Tensor:
        """Return the last states of the encoder, (batch, length, dim); 0 on padding.

        With `first` only the first tokens', (batch, 1, dim): the last layer computes nothing else.
        """
        real = tokens.mask.bool()
        lengths = tokens.lengths  # (batch,)
        hidden_states = self._embedded(tokens, real)  # (tokens, dim)
        runs = equal_lengths(lengths.tolist())
        *layers, last = self.model.encoder.layer
        for layer in layers:
            hidden_states = self._kept(layer, hidden_states, runs)
        if first:
            return self._kept(last, hidden_states, runs, lengths.cumsum(0) - lengths)[:, None]
        hidden_states = self._kept(last, hidden_states, runs)
        padded = hidden_states.new_zeros((*real.shape, hidden_states.shape[1]))
        padded[real] = hidden_states
        return padded

    def _embedded(self, tokens: Tokens, real: Tensor) -> Tensor:
        own = self.model.embeddings
        if type(self.model).__name__ == "BertModel":
            places = torch.arange(real.shape[1]).expand(real.shape)
        else:  # RoBERTa's positions start after the padding's, and skip padding tokens
            padding = self.model.config.pad_token_id
            counted = tokens.ids.ne(padding) & real
            places = counted.cumsum(1) * counted + padding
        ids = tokens.ids[real]
        if self.rows:
            used, rows = self.rows
            hidden_states = functional.embedding(torch.searchsorted(used, ids), rows)
        else:
            hidden_states = own.word_embeddings(ids)
        hidden_states += own.token_type_embeddings.weight[0]
        hidden_states += own.position_embeddings(places[real])
        embedded: Tensor = own.dropout(own.LayerNorm(hidden_states))
        return embedded

    def _kept(self, layer: Any, *inputs: Any) -> Tensor:
        """Return the states after a layer, and keep only its inputs if the model says so."""
        if self.recomputes and torch.is_grad_enabled():
            after: Tensor = checkpoint(self._layer, layer, *inputs, use_reentrant=False)
            return after
        return self._layer(layer, *inputs)

    @property
    def recomputes(self) -> bool:
        """Whether whole layers are computed again for their gradients."""
        encoder = self.model.encoder  # marked by transformers 4; its layers by transformers 5
        marked = any(
            getattr(each, "gradient_checkpointing", False) for each in (encoder, encoder.layer[0])
        )
        return bool(self.model.training) and marked

    def _layer(
        self,
        layer: Any,
        hidden_states: Tensor,
        runs: list[tuple[int, int]],
        firsts: Tensor | None = None,
    ) -> Tensor:
        """Return the states after a layer, (tokens, dim), or at `firsts`, (texts, dim)."""
        chosen = hidden_states if firsts is None else hidden_states[firsts]
        seen = self._attended(layer.attention.self, chosen, hidden_states, runs)
        chosen = add_and_normalize(layer.attention.output, seen, chosen)
        wide = layer.intermediate.dense(chosen)  # (tokens, intermediate size)
        if layer.training and torch.is_grad_enabled() and not self.recomputes:
            # computing the activation again for the gradient saves a large tensor
            after: Tensor = checkpoint(self._narrowed, layer, wide, chosen, use_reentrant=False)
            return after
        return self._narrowed(layer, wide, chosen)

    def _narrowed(self, layer: Any, wide: Tensor, hidden_states: Tensor) -> Tensor:
        """Return the end of a layer: its activation, and the map back to the size of a state."""
        return add_and_normalize(
            layer.output, layer.intermediate.intermediate_act_fn(wide), hidden_states
        )

    def _attended(
        self, own: Any, chosen: Tensor, hidden_states: Tensor, runs: list[tuple[int, int]]
    ) -> Tensor:
        """Return the attention output of the chosen tokens, all or the first of each text."""
        queries = own.query(chosen).split(
            [
                count if len(chosen) < len(hidden_states) else length * count
                for length, count in runs
            ]
        )
        sizes = [length * count for length, count in runs]
        keys, values = own.key(hidden_states).split(sizes), own.value(hidden_states).split(sizes)
        dropout = own.dropout.p if own.training else 0.0
        attended = []
        for (_, count), *parts in zip(runs, queries, keys, values, strict=True):
            # (texts, heads, length, dim / heads)
            split = [each.view(count, -1, self.heads, own.attention_head_size) for each in parts]
            query, key, value = (each.transpose(1, 2) for each in split)
            seen = functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout)
            attended.append(seen.transpose(1, 2).flatten(2).flatten(0, 1))
        return torch.cat(attended)


def add_and_normalize(output: Any, inputs: Tensor, hidden_states: Tensor) -> Tensor:
    """Return the end of a half layer: linear map, dropout, sum with the states, norm.

    In inference the product is added to the states in place: neither the bias nor the sum costs its
    own pass.
    """
    dense = output.dense
    in_place = type(dense) is nn.Linear and not (torch.is_grad_enabled() or output.training)
    if not in_place or torch.is_autocast_enabled(inputs.device.type):
        hidden_states = output.dropout(dense(inputs)) + hidden_states
    else:
        hidden_states = hidden_states.add_(dense.bias).addmm_(inputs, dense.weight.T)
    after: Tensor = output.LayerNorm(hidden_states)
    return after


def pack(model: Any) -> Packed | None:
    """Return the model, of one of `PACKED_MODELS`, packed; None if its states are not as expected.

    Both ways compute a small sample, and no state may differ by more than `MAX_RELATIVE_ERROR`.
    """
    if model.config.is_decoder:
        return None
    outputs = [part.output for layer in model.encoder.layer for part in (layer, layer.attention)]
    if any(type(output.dense) is not nn.Linear for output in outputs):
        return None  # quantized weights
    lengths = torch.tensor([9, 5, 5, 1])
    mask = (torch.arange(9) < lengths[:, None]).long()  # (4, 9)
    padding = model.config.pad_token_id or 0
    ids = (torch.arange(36).view(4, 9) + padding + 1) % model.config.vocab_size
    tokens = Tokens(torch.where(mask.bool(), ids, padding), mask)
    packed, training = Packed(model), model.training
    model.eval()
    with torch.autocast("cpu", enabled=False), torch.no_grad():
        expected = model(input_ids=tokens.ids, attention_mask=mask).last_hidden_state
        error = (packed.hidden_states(tokens) - expected)[mask.bool()].abs().max()
    model.train(training)
    return packed if error <= MAX_RELATIVE_ERROR * expected.abs().max() else None


def equal_lengths(lengths: list[int]) -> list[tuple[int, int]]:
    """Return runs of equal lengths, and the number of texts in each.

    >>> equal_lengths([5, 5, 2])
    [(5, 2), (2, 1)]
    """
    return [(length, len(list(run))) for length, run in groupby(lengths)]
