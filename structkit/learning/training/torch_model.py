"""Trained models that torch computes, and their weights in a model folder.

Tests: tests/learning/strae/test_strae_training.py.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from structkit.learning.folders import WEIGHTS, damaged, read_weights, write_weights
from structkit.learning.training.tokens import Model


class TorchModel(nn.Module, Model):
    """A trained model that torch computes."""

    @property
    def device(self) -> torch.device:
        """The device on which it computes."""
        return next(self.parameters()).device

    @abstractmethod
    def batch(self, inputs: Sequence[Any]) -> Any:
        """Return some inputs as one batch."""

    @abstractmethod
    def embed(self, batch: Any) -> Tensor:
        """Return one embedding per input, (inputs, dim)."""


def save_state(module: nn.Module, folder: Path) -> None:
    """Write the weights of a module."""
    state = module.state_dict()
    write_weights(folder, {name: each.cpu().numpy() for name, each in state.items()})


def fill(module: nn.Module, folder: Path) -> None:
    """Give a module the weights in a folder. Errors: `UserError` where they are not its own."""
    stored = {name: torch.from_numpy(each) for name, each in read_weights(folder).items()}
    try:
        module.load_state_dict(stored)
    except RuntimeError as error:  # a heading, and a line for each difference
        first = str(error).partition("\n")[2].partition("\n")[0].strip()
        raise damaged(f"is of another model: {first:.200}", folder / WEIGHTS) from None
