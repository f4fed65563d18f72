"""What the training engine knows of a method: batches, a loss, an optimizer, a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from structkit.learning.training.plan import Step
from structkit.learning.training.settings import TrainingSettings
from structkit.learning.training.tokens import Truncation
from structkit.records.jsonl import Record
from structkit.seeds import key


class TrainingModule(nn.Module):
    """The base of every method's training: override `batch`, `loss` and `save`.

    A method that needs its own optimizer, or gradients in pieces, overrides `optimizer` or
    `backward`; the engine stays as it is. Of several processes each gives the gradients of its
    share of a batch, and the engine adds them up.
    """

    def __init__(self, settings: TrainingSettings) -> None:
        super().__init__()
        self.settings = settings
        self.truncation = Truncation()

    def batch(self, records: list[Record], step: Step) -> Any:
        """The inputs of one step, on the module's device."""
        raise NotImplementedError

    def loss(self, inputs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of a batch, and its parts by name for the log."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write all files of the model folder but `structkit.json`."""
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        """What `structkit.json` must say beside the settings to load the model."""
        return {}

    def backward(self, inputs: Any) -> dict[str, float]:
        """Add the gradients of a batch; the loss and its parts as numbers."""
        loss, parts = self.loss(inputs)
        loss.backward()  # type: ignore[no-untyped-call]
        return {name: part.item() for name, part in {"loss": loss.detach(), **parts}.items()}

    def optimizer(self) -> torch.optim.Optimizer:
        """Adam, in one kernel."""
        return torch.optim.Adam(self.parameters(), lr=self.settings.learning_rate, fused=True)


def adamw(module: nn.Module, learning_rate: float, weight_decay: float) -> torch.optim.Optimizer:
    """AdamW for a module; biases and norms are not decayed."""
    weights = [weight for weight in module.parameters() if weight.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [weight for weight in weights if weight.ndim > 1]},
        {"params": [weight for weight in weights if weight.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=learning_rate,
        weight_decay=weight_decay,
        fused=True,
    )


def seed_parameters(seed: int) -> None:
    """Make the random parameters of the next model depend on the settings' seed alone."""
    torch.manual_seed(key(seed, "parameters") >> 1)
