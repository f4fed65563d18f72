"""The matrix products of an encoder and nothing else: the physical limit of encoding and training.

No bias, activation, norm, softmax or padding; ones instead of states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from structkit.learning.training.devices import fastest_matmul, matmul

STRETCH = 1024  # tokens in a product: what is fastest


class Products:
    """The products over texts of some lengths, in a number type; with `gradients` also theirs."""

    def __init__(
        self, model: Any, lengths: Sequence[int], dtype: torch.dtype, *, gradients: bool = False
    ) -> None:
        maps = [each for each in model.encoder.modules() if isinstance(each, nn.Linear)]
        self.weights = [each.weight.detach().to(dtype) for each in maps]  # (out, in) each
        self.layers = model.config.num_hidden_layers
        self.heads = model.config.num_attention_heads
        self.size = model.config.hidden_size // self.heads
        self.lengths, self.dtype, self.gradients = lengths, dtype, gradients
        self.precision = fastest_matmul()

    def __call__(self, _: object = None) -> None:
        whole, rest = divmod(sum(self.lengths), STRETCH)
        with torch.inference_mode(), matmul(self.precision):
            for count in [STRETCH] * whole + [rest]:
                for weight in self.weights:
                    self.mapped(torch.ones(count, weight.shape[1], dtype=self.dtype), weight)
            for length in self.lengths * self.layers:
                self.attended(torch.ones(self.heads, length, self.size, dtype=self.dtype))

    def mapped(self, states: Tensor, weight: Tensor) -> None:
        """A linear map of states, (tokens, in)."""
        out = states @ weight.T  # (tokens, out)
        if self.gradients:
            out @ weight
            out.T @ states

    def attended(self, states: Tensor) -> None:
        """Attention of a text over itself, (heads, length, size)."""
        scores = states @ states.mT  # (heads, length, length)
        scores @ states
        if self.gradients:
            states @ states.mT
            for each in (scores, scores.mT, scores.mT):
                each @ states
