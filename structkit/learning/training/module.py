"""What the training engine knows of a method: batches, a loss, an optimizer, a folder.

Beside it stand the records that are not learned from, and what a trained model is.

Tests: tests/learning/training/test_held_out.py.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from structkit.learning.folders import WEIGHTS, read_weights, write_weights
from structkit.learning.json_files import damaged
from structkit.learning.training.settings import Method, Step
from structkit.learning.training.spool import Spool
from structkit.learning.training.tokens import Model, Truncation
from structkit.records.jsonl import Record
from structkit.seeds import key


class TrainingModule(nn.Module):
    """The base of every method's training: override `batch`, `loss`, `optimizer` and `save`.

    A method whose model is complete when it is built overrides `save` alone, one that needs
    gradients in pieces `backward`; the engine needs no change. With several processes, each
    computes the gradients of its share of a batch, and the engine adds them up.
    """

    seen = 0  # records that it learned from before the first step, each as often as it was read

    def __init__(self, settings: Method) -> None:
        super().__init__()
        self.settings = settings
        self.truncation = Truncation()

    def batch(self, records: list[Record], step: Step) -> Any:
        """The inputs of one step, on the module's device."""
        raise NotImplementedError

    def held_out(self, records: list[Record], step: Step) -> Any:
        """The inputs of held-out records."""
        return self.batch(records, step)

    def loss(self, inputs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of a batch, and its parts by name for the log."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write all files of the model folder but `structkit.json`."""
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        """What `structkit.json` must say besides the settings to load the model."""
        return {}

    def backward(self, inputs: Any) -> dict[str, float]:
        """Add the gradients of a batch; returns the loss and its parts as numbers."""
        loss, parts = self.loss(inputs)
        loss.backward()  # type: ignore[no-untyped-call]
        return {name: part.item() for name, part in {"loss": loss.detach(), **parts}.items()}

    def optimizer(self) -> torch.optim.Optimizer:
        """What makes steps of gradients."""
        raise NotImplementedError


class TorchModel(nn.Module, Model):
    """A trained model that torch computes."""

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """The device on which it computes."""

    @abstractmethod
    def batch(self, inputs: Sequence[Any]) -> Any:
        """Some inputs as one batch."""

    @abstractmethod
    def embed(self, batch: Any) -> Tensor:
        """One embedding per input, (inputs, dim)."""


def adamw(module: nn.Module, learning_rate: float) -> torch.optim.Optimizer:
    """AdamW for a module, without weight decay."""
    weights = [weight for weight in module.parameters() if weight.requires_grad]
    return torch.optim.AdamW(weights, lr=learning_rate, weight_decay=0.0, fused=True)


def seed_parameters(seed: int) -> None:
    """Make the random parameters of the next model depend on the settings' seed alone."""
    torch.manual_seed(key(seed, "parameters") >> 1)


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


class HeldOut:
    """The losses of held-out records, and the weights with the lowest one.

    The loss is that of the training, without dropout, in batches of the same size and in the file's
    order. Each stage of a training, whose losses differ, ends with its best model.
    """

    def __init__(self, module: TrainingModule, records: Spool, batch_size: int) -> None:
        self.module, self.records = module, records
        rows = range(len(records))
        self.batches = [rows[start : start + batch_size] for start in rows[::batch_size]]
        self.losses: list[float] = []
        self.best_step = 0
        self.best, self.weights = math.inf, dict[str, Tensor]()

    def look(self, steps: int, stage: str) -> float:
        """Measure the loss after `steps` steps, and remember the model if it is the best so far."""
        module = self.module
        counted = deepcopy(vars(module.truncation))
        module.eval()
        # recurrent networks of cuDNN have no gradients in evaluation mode
        with torch.backends.cudnn.flags(enabled=False):
            losses = [self._loss(rows, stage) for rows in self.batches]
        module.train()
        module.zero_grad(set_to_none=True)
        vars(module.truncation).update(counted)  # held-out texts do not count as training texts
        sizes = list(map(len, self.batches))
        loss = sum(map(math.prod, zip(losses, sizes, strict=True))) / sum(sizes)
        self.losses.append(loss)
        if loss < self.best:
            self.best, self.best_step = loss, steps
            weights = module.state_dict()
            self.weights = {name: each.detach().cpu().clone() for name, each in weights.items()}
        return loss

    def _loss(self, rows: range, stage: str) -> float:
        """The loss of a batch as in training, so that it fits in memory; gradients are dropped."""
        records = [self.records[row] for row in rows]
        torch.manual_seed(key(self.module.settings.seed, "held out", rows.start) >> 1)
        step = Step(0, stage, 0, list(range(len(records))))
        self.module.zero_grad(set_to_none=True)
        return self.module.backward(self.module.held_out(records, step))["loss"]

    def keep_best(self) -> None:
        """Give the module the best weights, and start over: at the end of each stage."""
        if self.weights:
            self.module.load_state_dict(self.weights)
        self.best, self.weights = math.inf, {}

    def state(self) -> dict[str, Any]:
        """What a checkpoint needs."""
        names = ("losses", "best_step", "best", "weights")
        return {name: getattr(self, name) for name in names}

    def load(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        vars(self).update(state)

    def facts(self) -> Record:
        """For the summary: first, lowest and last loss, and the step of the model that is kept."""
        first, *_, last = [*self.losses, self.losses[-1]]
        return {"first": first, "lowest": min(self.losses), "last": last, "step": self.best_step}
