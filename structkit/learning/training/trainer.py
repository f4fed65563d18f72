"""The training engine, independent of methods: steps, a learning rate, logs, checkpoints.

A run lives in a folder: its checkpoints while it trains, its model when it is done.

Tests: tests/learning/training/test_resume.py.
"""

from __future__ import annotations

import math
import os
import shutil
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any

import orjson
import torch
from torch import Tensor

from structkit.errors import UserError, flag
from structkit.learning.folders import FACTS, LOSSES, read_facts
from structkit.learning.training.devices import (
    add_counts,
    add_gradients,
    fastest_matmul,
    matmul,
    rank,
    same_parameters,
    total,
)
from structkit.learning.training.module import HeldOut, TrainingModule
from structkit.learning.training.settings import Plan, RunOptions, Step
from structkit.learning.training.spool import Spool
from structkit.learning.training.tokens import Truncation
from structkit.processes import exit_for, handled_signals
from structkit.progress import Position, announce, progress, say
from structkit.records.jsonl import Record
from structkit.records.output import (
    beside,
    cannot_write,
    refuse_name,
    remove,
    replace_folder,
    system_error,
    whole_file,
)
from structkit.seeds import key

ENTRY, SLACK = 1 << 10, 1 << 18  # bytes of a checkpoint for each weight, and for all else
LENGTH = ("epochs", "max_steps")  # the learning rate depends on them
# what a checkpoint has of a trainer as it is
PROGRESS = ("step", "records", "parts")


class Trainer:
    """One run of a module over a spool.

    All randomness of a step is keyed by its number, so that a resumed run needs no more than the
    module's and the optimizer's state to continue bit for bit.
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
        with matmul(self._matmul()):
            self._steps()

    def _matmul(self) -> str:
        """The precision of float32 products, the same in all processes."""
        if next(self.module.parameters()).device.type != "cpu":
            return torch.get_float32_matmul_precision()
        medium = total(rank() == 0 and fastest_matmul() == "medium") > 0
        return "medium" if medium else "highest"

    def _steps(self) -> None:
        start, steps, every = self.step, self.plan.steps, self.options.save_every
        with noting_signals() as asked, progress("train", self._position):
            while self.step < steps:
                self._train(self.plan.step(self.step))
                self.step += 1
                self._look()
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

    def _look(self) -> None:
        """Measure the held-out loss when it is due; a stage ends with its best model."""
        step, held_out, end = self.step, self.held_out, self.plan.end(self.step)
        if held_out and (step == end or step % self.plan.look_every == 0):
            loss = held_out.look(step, self.plan.step(step - 1).stage)
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
            self.optimizer.state.clear()  # each stage is a training of its own (SEAL, section 4)
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
        """How many texts were cut, in all processes."""
        own = self.module.truncation
        all_processes = copy(own)  # what a method counts besides is kept
        all_processes.texts = add_counts(own.texts)
        all_processes.truncated = add_counts(own.truncated)
        return all_processes

    def end(self, truncation: Truncation) -> dict[str, Any]:
        """The state that is left when no step is to come, so that the model can be written."""
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
        self.before = state.get("seconds", 0.0)  # those of 0.1.0 do not tell
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
        """First, last and mean value of the loss and its parts."""
        return {
            name: {
                "first": part["first"],
                "last": part["last"],
                "mean": part["sum"] / part["count"],
            }
            for name, part in self.parts.items()
        }


class Log:
    """A line every `log_every` steps: means since the line before.

    All are kept for the model folder, without what differs from run to run. On stderr they are
    JSON, or text where it is not a terminal.
    """

    def __init__(self, options: RunOptions, steps: int, *, silent: bool) -> None:
        self.every, self.steps, self.silent = options.log_every, steps, silent
        self.json = options.log_format == "json"
        self.lines: list[dict[str, Any]] = []
        self._clear()

    def _clear(self) -> None:
        self._sums: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._records = 0
        self._since = time.monotonic()

    def state(self) -> dict[str, Any]:
        return {"lines": self.lines, "sums": dict(self._sums), "counts": dict(self._counts)}

    def load(self, state: dict[str, Any]) -> None:
        self.lines = state["lines"]
        self._sums, self._counts = Counter(state["sums"]), Counter(state["counts"])

    def add(self, step: Step, parts: dict[str, float], learning_rate: float, records: int) -> None:
        self._sums.update(parts)
        self._counts.update(parts.keys())
        self._records += records
        if (step.number + 1) % self.every:
            return
        line = {
            "step": step.number + 1,
            "stage": step.stage,
            "epoch": step.epoch,
            **{name: value / self._counts[name] for name, value in self._sums.items()},
            "learning_rate": learning_rate,
        }
        self.line(line, records_per_second=self._records / (time.monotonic() - self._since))
        self._clear()

    def line(self, line: dict[str, Any], **passing: float) -> None:
        """Keep a line, and write it with what is only of this run."""
        self.lines.append(line)
        if self.silent:
            return
        if self.json:
            shown = orjson.dumps(line | passing).decode()
            print(shown, file=sys.stderr, flush=True)  # noqa: T201 the log
            return
        name = next(name for name in ("loss", "held_out_loss") if name in line)
        said = f"{name.replace('_', ' ')} {line[name]:.4f}"
        announce(f"step {line['step']:,} of {self.steps:,}, {said}")

    def write(self, folder: Path) -> None:
        """Write what was kept into a model folder."""
        if self.lines:
            lines = (orjson.dumps(each) + b"\n" for each in self.lines)
            (folder / LOSSES).write_bytes(b"".join(lines))


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


class RunFolder:
    """`DIR`, and `DIR.partial`, where the run lives until `DIR` can appear complete.

    Errors: `UserError` where `DIR` or a stopped run is in the way, naming the flags that help.
    """

    def __init__(self, output: str, *, overwrite: bool, resume: bool) -> None:
        self.final = Path(output)
        self.run: Record = {}
        self.resume = resume
        if self.final.name in ("", ".."):
            raise UserError(f"{flag('output', output)} names no new folder", "name one", status=2)
        self.partial = Path(beside(self.final, "", ".partial"))
        self.model = self.partial / "model"  # before `finish` moves it into place
        self.room = self.partial / "room"  # as large as a checkpoint without what only steps need
        other = f"name another folder with {flag('output')}"
        try:
            refuse_name(self.final)
            if self.partial.is_symlink():  # it may lead anywhere
                raise UserError(f"{self.partial} is a link", f"remove it, or {other}")
        except OSError as error:  # a name that is too long
            raise cannot_write(error, "made").at(output) from None
        final, latest = self.final, self.latest()
        there = any(final.iterdir()) if final.is_dir() else final.exists()
        if there and (overwrite or resume) and not (final / FACTS).is_file():
            raise UserError(f"{final} is not a model folder", other)
        if overwrite:
            remove(self.partial)
        elif there and not resume:
            raise UserError(
                f"{final} exists",
                f"replace it with {flag('overwrite')}, continue a stopped run with "
                f"{flag('resume')}, or {other}",
            )
        elif latest and not resume:
            step = int(latest.name.removeprefix("step-"))
            raise UserError(
                f"a run into {final} stopped at step {step:,}",
                f"continue it with {flag('resume')}, or start again with {flag('overwrite')}",
            )
        self.complete = resume and there and latest is None

    def open(self, run: Record) -> None:
        """Make the folder where the run lives: the first process does."""
        self.run = run
        if rank():
            return
        try:
            self.partial.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(error, "made").at(str(self.partial)) from None
        for path in self.partial.glob(".*.partial"):  # of a process that was killed
            path.unlink()
        if self.resume and self.latest() is None:
            say(f"there is nothing to resume in {self.partial}; the run starts at step 0")

    def finished(self, run: Record) -> Record:
        """The summary of the finished run. Errors: it was another run."""
        facts = read_facts(self.final)
        data = facts["data"]
        before = {"method": facts["method"], **facts["settings"], "data": data["sha256"]}
        before |= {"held_out": data.get("held_out")}
        if other := differences(before, run):
            elsewhere = f"name another folder with {flag('output')}"
            if of_length(before, run) and "model" in run:  # its rate fell to the end of its steps
                start = f"{flag('model')} {self.final}"
                elsewhere = f"go on from its end with {start} and another {flag('output')}"
            raise UserError(
                f"the finished run in {self.final} differs in {', '.join(other)}",
                f"train it again with {flag('overwrite')}, or {elsewhere}",
            )
        say(f"the run in {self.final} is complete; {flag('overwrite')} trains it again")
        known = {name: facts[name] for name in ("steps", "losses")}
        return {"folder": str(self.final), "method": facts["method"], **known, "complete": True}

    def latest(self) -> Path | None:
        """The last complete checkpoint."""
        return next(iter(self.checkpoints()), None)

    def checkpoints(self) -> list[Path]:
        """All complete checkpoints, the last one first."""
        steps = {
            int(number): path
            for path in self.partial.glob("step-*")
            if (number := path.name.removeprefix("step-")).isdecimal()
        }
        return [steps[number] for number in sorted(steps, reverse=True)]

    def save(self, step: int, state: dict[str, Any]) -> None:
        """Write a checkpoint, which appears only when complete, and remove those before it."""
        with whole_file(self.partial / f"step-{step}") as file:
            torch.save(state | {"run": self.run}, file)
        for path in self.checkpoints()[1:]:
            path.unlink()

    def load(self) -> dict[str, Any] | None:
        """The state in the last checkpoint, or None. Errors: it is damaged, or of another run."""
        latest = self.latest()
        if latest is None:
            return None
        again = f"start again with {flag('overwrite')}"
        try:
            state: dict[str, Any] = torch.load(latest, map_location="cpu", weights_only=True)
            before = state["run"]
            other = differences(before, self.run)
        except Exception:  # damage raises many kinds, and torch's advice is to load it unsafely
            raise UserError("is damaged or cut short", again).at(str(latest)) from None
        if other:
            same = "the same settings and data"
            if of_length(before, self.run):  # the learning rate falls over all steps
                same = " and ".join(
                    f"{flag(name)} {before[name]}" if before[name] else f"no {flag(name)}"
                    for name in LENGTH
                    if before.get(name) != self.run.get(name)
                )
            raise UserError(
                f"the stopped run in {self.partial} differs in {', '.join(other)}",
                f"resume with {same}, or {again}",
            )
        return state

    def keep_room(self, weights: Mapping[str, Tensor]) -> None:
        """Take the room on the disk that the weights need: a full disk ends no training.

        Errors: `UserError` where there is none, before there is anything to lose.
        """
        sizes = {each.data_ptr(): each.nbytes for each in weights.values()}
        room = sum(sizes.values()) + len(weights) * ENTRY + SLACK
        try:
            with self.room.open("wb") as file:
                if hasattr(os, "posix_fallocate"):  # macOS has none
                    os.posix_fallocate(file.fileno(), 0, room)
        except OSError as error:
            raise cannot_write(error).at(str(self.partial)) from None

    @contextmanager
    def writing(self, step: int, end: Callable[[], dict[str, Any]]) -> Iterator[Path]:
        """An empty folder for the finished model; where that cannot be written, `end()` is kept.

        That is the state after the last step, which takes the room that was kept.
        """
        try:
            remove(self.model)
            self.model.mkdir()
            yield self.model
            self.room.unlink(missing_ok=True)  # what else belongs to the model is small
        except Exception as error:
            if (refused := system_error(error)) is None:
                raise
            shutil.rmtree(self.model, ignore_errors=True)
            self.room.unlink(missing_ok=True)
            self.save(step, end())
            raise UserError(
                cannot_write(refused).problem,
                f"the trained weights are in {self.partial}; make room, and add {flag('resume')}",
            ).at(str(self.final)) from None

    def finish(self) -> None:
        """Move the model into place and clean up."""
        replace_folder(self.model, self.final, self.partial / "old")
        shutil.rmtree(self.partial)

    def abandon(self) -> None:
        """Remove the folder if it has no checkpoint: the first process does."""
        if rank():
            return
        if self.latest() is None:
            remove(self.partial)
        self.room.unlink(missing_ok=True)


def differences(before: Record, run: Record) -> list[str]:
    """How a run differs from an earlier one, for people."""
    return [
        f"{name} (was {before.get(name)}, is {run.get(name)})"
        for name in sorted(run)
        if before.get(name) != run.get(name)
    ]


def of_length(before: Record, run: Record) -> bool:
    """Whether a run differs from an earlier one only in how long it is."""
    return all(name in LENGTH or before.get(name) == run.get(name) for name in run)
