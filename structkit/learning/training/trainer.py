"""The training engine: the module that a method trains, its steps, and its held-out losses.

Tests: tests/learning/training/test_resume.py, tests/learning/training/test_held_out.py.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn

from structkit.errors import UserError, flag
from structkit.learning.training.devices import (
    add_counts,
    add_gradients,
    fastest_matmul,
    matmul,
    rank,
    same_parameters,
    total,
)
from structkit.learning.training.log import Log
from structkit.learning.training.method import Method, RunOptions
from structkit.learning.training.plan import Plan, Step
from structkit.learning.training.run_folder import RunFolder
from structkit.learning.training.spool import Spool
from structkit.learning.training.tokens import Truncation
from structkit.processes import exit_for, handled_signals
from structkit.progress import Position, progress, say
from structkit.records.jsonl import Record
from structkit.seeds import key

# attributes of a trainer that a checkpoint stores
PROGRESS = ("step", "records", "parts")


class TrainingModule(nn.Module):
    """Base class of every method's training: override `batch`, `loss`, `optimizer` and `save`.

    A method whose model is complete when it is built overrides `save` alone, one that needs
    gradients in chunks `backward`; the engine needs no change. With several processes, each
    computes the gradients of its share of a batch, and the engine adds them up.
    """

    rounds = False  # whether products on a GPU may round float32 to TF32, which is far faster
    seen = 0  # records that it learned from before the first step, each as often as it was read

    def __init__(self, settings: Method) -> None:
        super().__init__()
        self.settings = settings
        self.truncation = Truncation()

    def batch(self, records: list[Record], step: Step) -> Any:
        """Return the inputs of one step, on the module's device."""
        raise NotImplementedError

    def held_out(self, records: list[Record], step: Step) -> Any:
        """Return the inputs of held-out records."""
        return self.batch(records, step)

    def loss(self, inputs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of a batch, and its parts by name for the log."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write all files of the model folder but `structkit.json`."""
        raise NotImplementedError

    def metadata(self) -> dict[str, Any]:
        """Return metadata, in addition to the settings, that load the model."""
        return {}

    def backward(self, inputs: Any) -> dict[str, float]:
        """Add the gradients of a batch; returns the loss and its parts as numbers."""
        loss, parts = self.loss(inputs)
        loss.backward()  # type: ignore[no-untyped-call]
        return {name: part.item() for name, part in {"loss": loss.detach(), **parts}.items()}

    def optimizer(self) -> torch.optim.Optimizer:
        """Return the optimizer."""
        raise NotImplementedError


def adamw(module: nn.Module, learning_rate: float) -> torch.optim.Optimizer:
    """Return AdamW for a module, without weight decay."""
    weights = [weight for weight in module.parameters() if weight.requires_grad]
    return torch.optim.AdamW(weights, lr=learning_rate, weight_decay=0.0, fused=True)


def seed_parameters(seed: int) -> None:
    """Make the random parameters of the next model depend on the settings' seed alone."""
    torch.manual_seed(key(seed, "parameters") >> 1)


class Trainer:
    """One run of a module over a spool.

    All randomness of a step is keyed by its number, so that a resumed run needs no more than the
    module's and the optimizer's state to continue: on a CPU bit for bit, on a GPU but for the
    order in which gradients are added up.
    """

    def __init__(
        self,
        module: TrainingModule,
        spool: Spool,
        plan: Plan,
        options: RunOptions,
        folder: RunFolder,
        held_out: HeldOut | None = None,
    ) -> None:
        self.held_out = held_out
        self.module, self.spool, self.plan = module, spool, plan
        self.options, self.folder = options, folder
        self.step = 0
        self.records = 0
        # of the loss and each of its parts: first, last, sum, count; stages may have different ones
        self.parts: dict[str, dict[str, float]] = {}
        self.started = time.monotonic()
        self.before = 0.0  # seconds of the runs that this one continues
        self.seconds = 0.0  # of a step
        self.log = Log(options, plan.steps, silent=rank() > 0)

    @cached_property
    def optimizer(self) -> torch.optim.Optimizer:
        """Made for the first step: a model that needs no steps has none."""
        optimizer = self.module.optimizer()
        for group in optimizer.param_groups:
            group.setdefault("highest_lr", group["lr"])
        return optimizer

    def run(self) -> None:
        """Train to the end. Errors: a loss that is not a number; Ctrl-C leaves a checkpoint."""
        self.module.train()
        self._restore()
        if rank() == 0:
            self.folder.keep_room(self.module.state_dict())
        same_parameters(self.module)
        with matmul(self._matmul()), self.log.writing():
            self._steps()

    def _matmul(self) -> str:
        """Return the precision of float32 products, the same in all processes."""
        if next(self.module.parameters()).device.type != "cpu":
            return "high" if self.module.rounds else "highest"
        medium = total(rank() == 0 and fastest_matmul() == "medium") > 0
        return "medium" if medium else "highest"

    def _steps(self) -> None:
        start, steps, every = self.step, self.plan.steps, self.options.save_every
        with noting_signals() as asked, progress("train", self._position):
            while self.step < steps:
                self._train(self.plan.step(self.step))
                self.step += 1
                self._validate()
                # a signal reaches one process sooner than another: they agree
                stop = total(bool(asked)) > 0 and self.step < steps
                if stop or (every and self.step % every == 0 and self.step < steps):
                    self._save()
                if stop:
                    break
        if self.step < steps:
            say(f"stopped at step {self.step:,} of {steps:,}; add {flag('resume')} to continue")
            # where another process has received the signal, this one ends as by SIGTERM
            raise exit_for(asked[0] if asked else signal.SIGTERM)
        if steps > start:
            self.seconds = (time.monotonic() - self.started) / (steps - start)

    def _validate(self) -> None:
        """Measure the held-out loss when it is due; a stage ends with its best model."""
        step, held_out, end = self.step, self.held_out, self.plan.end(self.step)
        if held_out and (step == end or step % self.plan.validate_every == 0):
            loss = held_out.measure(step, self.plan.step(step - 1).stage)
            self.log.line({"step": step, "held_out_loss": loss})
            if step == end:
                held_out.keep_best()

    def _train(self, step: Step) -> None:
        settings = self.module.settings
        own = (rank(),) if rank() else ()  # dropout differs between processes
        torch.manual_seed(key(settings.seed, "step", step.number, *own) >> 1)
        rate = self.plan.learning_rate(step.number)
        for group in self.optimizer.param_groups:
            group["lr"] = group["highest_lr"] * rate
        if step.number and step.number % self.plan.stage_steps == 0:
            self.optimizer.state.clear()  # each stage is a separate training (SEAL, section 4)
        records = [self.spool[index] for index in step.indices]
        self.optimizer.zero_grad(set_to_none=True)
        parts = self.module.backward(self.module.batch(records, step))
        add_gradients(self.module)
        if not math.isfinite(parts["loss"]):
            raise UserError(
                f"the loss is {parts['loss']} at step {step.number + 1:,}",
                f"lower {flag('learning_rate')}, or raise {flag('warmup')}",
            )
        if longest := self.plan.max_grad_norm:
            torch.nn.utils.clip_grad_norm_(self.module.parameters(), longest)
        self.optimizer.step()
        self.records += len(records)
        for name, value in parts.items():
            part = self.parts.setdefault(name, {"first": value, "sum": 0.0, "count": 0})
            part |= {"last": value, "sum": part["sum"] + value, "count": part["count"] + 1}
        self.log.add(step, parts, self.optimizer.param_groups[0]["lr"], len(records))

    def _save(self) -> None:
        """Write a checkpoint, by one process for all."""
        truncation = self.truncation()
        if rank() == 0:
            state = self.end(truncation) | {"optimizer": self.optimizer.state_dict()}
            self.folder.save(self.step, state)
        total(0)  # the others wait for it

    def truncation(self) -> Truncation:
        """Return the counts of cut texts over all processes."""
        own = self.module.truncation
        all_processes = copy(own)  # a method's other counts are kept
        all_processes.texts = add_counts(own.texts)
        all_processes.truncated = add_counts(own.truncated)
        return all_processes

    def end(self, truncation: Truncation) -> dict[str, Any]:
        """Return the state after the last step, from which the model can be written."""
        return {
            "module": self.module.state_dict(),
            "truncation": truncation.state(),
            **{name: getattr(self, name) for name in PROGRESS},
            "seconds": self.before + time.monotonic() - self.started,
            "log": self.log.state(),
            **({} if self.held_out is None else {"held_out": self.held_out.state()}),
        }

    def _restore(self) -> None:
        state = self.folder.load()
        if state is None:
            return
        self.module.load_state_dict(state["module"])
        if "optimizer" in state:  # steps are to come
            self.optimizer.load_state_dict(state["optimizer"])
        for name in PROGRESS:
            setattr(self, name, state[name])
        self.before = state["seconds"]
        self.log.load(state["log"])
        if self.held_out:
            self.held_out.load(state["held_out"])
        if rank() == 0:  # the counts of all processes
            self.module.truncation.load(state["truncation"])

    def _position(self) -> Position:
        note = f"step {self.step:,}/{self.plan.steps:,}"
        if self.parts:
            note += f", loss {self.parts['loss']['last']:.4f}"
        return Position(self.records, self.step, self.plan.steps, note)

    def losses(self) -> dict[str, dict[str, float]]:
        """Return first, last and mean value of the loss and its parts."""
        return {
            name: {
                "first": part["first"],
                "last": part["last"],
                "mean": part["sum"] / part["count"],
            }
            for name, part in self.parts.items()
        }


class HeldOut:
    """Losses of held-out records, and the weights with the lowest one.

    The loss is the training's, without dropout, in batches of the same size and in the file's
    order. Each stage of a training, whose losses differ, ends with its best model.
    """

    def __init__(self, module: TrainingModule, records: Spool, batch_size: int) -> None:
        self.module, self.records = module, records
        rows = range(len(records))
        self.batches = [rows[start : start + batch_size] for start in rows[::batch_size]]
        self.losses: list[float] = []
        self.best_step = 0
        self.best, self.weights = math.inf, dict[str, Tensor]()

    def measure(self, steps: int, stage: str) -> float:
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
        loss = total(loss if rank() == 0 else 0.0)  # all keep the same model
        self.losses.append(loss)
        if loss < self.best:
            self.best, self.best_step = loss, steps
            weights = module.state_dict()
            self.weights = {name: each.detach().cpu().clone() for name, each in weights.items()}
        return loss

    def _loss(self, rows: range, stage: str) -> float:
        """Return the loss of a batch as in training, within its memory."""
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
        """Return the state for a checkpoint."""
        names = ("losses", "best_step", "best", "weights")
        return {name: getattr(self, name) for name in names}

    def load(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        vars(self).update(state)

    def summary(self) -> Record:
        """Return first, lowest and last loss, and the step of the kept model."""
        first, *_, last = [*self.losses, self.losses[-1]]
        return {"first": first, "lowest": min(self.losses), "last": last, "step": self.best_step}


@contextmanager
def noting_signals() -> Iterator[list[int]]:
    """Note a signal that asks the run to stop; a second signal stops it at once."""
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        if asked:
            raise exit_for(number)
        asked.append(number)

    main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, ask) for number in handled_signals() if main}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
