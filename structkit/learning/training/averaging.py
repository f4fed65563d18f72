"""A moving average of the weights: less noisy than the last ones, at any learning rate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

EARLY = 10  # steps from which on the average forgets its first weights slowly


class WeightAverage:
    """After each step, the average a of the weights w becomes d a + (1 - d) w.

    At the n-th step, d is `decay`, but at most (1 + n) / (10 + n): the random start soon counts for
    nothing. Source: Polyak and Juditsky 1992; d as in TensorFlow's ExponentialMovingAverage.
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights = [weight for weight in module.parameters() if weight.requires_grad]
        self.steps, self.means = 0, list[Tensor]()

    @torch.no_grad()
    def add(self) -> None:
        """Take in the weights after a step."""
        self.steps += 1
        if not self.means:
            self.means = self._copies()
        decay = min(self.decay, (1 + self.steps) / (EARLY + self.steps))
        for mean, weight in zip(self.means, self.weights, strict=True):
            mean.lerp_(weight, 1 - decay)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Meanwhile, the module has the average."""
        kept = self._copies()
        self._fill(self.means)
        yield
        self._fill(kept)

    def finish(self) -> None:
        """Give the module the average, and start over: at the end of each stage."""
        self._fill(self.means)
        self.steps, self.means = 0, []

    def _copies(self) -> list[Tensor]:
        return [weight.detach().clone() for weight in self.weights]

    @torch.no_grad()
    def _fill(self, values: list[Tensor]) -> None:
        for weight, value in zip(self.weights, values, strict=True):
            weight.copy_(value)

    def state(self) -> dict[str, Any]:
        """What a checkpoint needs."""
        return {"steps": self.steps, "means": self.means}

    def load(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        self.steps = state["steps"]
        self.means = [
            mean.to(weight.device)
            for mean, weight in zip(state["means"], self.weights, strict=bool(state["means"]))
        ]
