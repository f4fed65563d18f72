"""The folder of a run: checkpoints while it trains, its model when it is done.

Tests: tests/learning/training/test_resume.py, tests/learning/training/test_full_disk.py.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from structkit.errors import UserError, flag
from structkit.learning.metadata import METADATA, read_metadata
from structkit.learning.training.devices import rank
from structkit.progress import say
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

ENTRY, SLACK = 1 << 10, 1 << 18  # bytes of a checkpoint for each weight, and for all else
STATE = "state"  # in the folder of a checkpoint: all but the parts of the model
LENGTH = ("epochs", "max_steps")  # the learning rate depends on them


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
        self.room = self.partial / "room"  # as large as a checkpoint without the state of steps
        other = f"name another folder with {flag('output')}"
        try:
            refuse_name(self.final)
            if self.partial.is_symlink():  # it may lead anywhere
                raise UserError(f"{self.partial} is a link", f"remove it, or {other}")
        except OSError as error:  # a name that is too long
            raise cannot_write(error, "made").at(output) from None
        final, latest = self.final, self.latest()
        there = any(final.iterdir()) if final.is_dir() else final.exists()
        if there and (overwrite or resume) and not (final / METADATA).is_file():
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
            remove(path)
        if self.resume and self.latest() is None:
            say(f"there is nothing to resume in {self.partial}; the run starts at step 0")

    def finished(self, run: Record) -> Record:
        """Return the summary of the finished run. Errors: it was another run."""
        metadata = read_metadata(self.final)
        data = metadata["data"]
        before = {"method": metadata["method"], **metadata["settings"], "data": data["sha256"]}
        before |= {name: data.get(name) for name in ("held_out", "start")}
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
        known = {name: metadata[name] for name in ("steps", "losses")}
        return {"folder": str(self.final), "method": metadata["method"], **known, "complete": True}

    def latest(self) -> Path | None:
        """Return the last complete checkpoint."""
        return next(iter(self.checkpoints()), None)

    def checkpoints(self) -> list[Path]:
        """Yield all complete checkpoints, the last one first."""
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
            remove(path)

    def save_parts(
        self,
        step: int,
        state: dict[str, Any],
        write: Callable[[Path], None],
    ) -> None:
        """Write a checkpoint as a folder, in which each process writes its part of a model."""
        made = self.partial / f".step-{step}.partial"
        write(made)
        if rank() == 0:
            torch.save(state | {"run": self.run}, made / STATE)
            made.rename(self.partial / f"step-{step}")
            for path in self.checkpoints()[1:]:
                remove(path)

    def load(self, *, sharded: bool = False) -> dict[str, Any] | None:
        """Load the last checkpoint, or None. Errors: it is damaged, or another run's."""
        latest = self.latest()
        if latest is None:
            return None
        again = f"start again with {flag('overwrite')}"
        if latest.is_dir() != sharded:
            how = "without" if sharded else "with"
            problem = f"the stopped run in {self.partial} was trained {how} {flag('shard_model')}"
            raise UserError(problem, f"resume it {how} that, or {again}")
        try:
            state: dict[str, Any] = torch.load(
                latest / STATE if sharded else latest,
                map_location="cpu",
                weights_only=True,
                mmap=True,
            )
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
        own = ((getattr(each, "_local_tensor", each), each.nbytes) for each in weights.values())
        sizes = {each.data_ptr(): size for each, size in own}
        room = sum(sizes.values()) + len(weights) * ENTRY + SLACK
        try:
            with self.room.open("wb") as file:
                if hasattr(os, "posix_fallocate"):  # macOS has none
                    os.posix_fallocate(file.fileno(), 0, room)
        except OSError as error:
            raise cannot_write(error).at(str(self.partial)) from None

    @contextmanager
    def writing(self, step: int, end: Callable[[], dict[str, Any]]) -> Iterator[Path]:
        """Open an empty folder for the finished model; if it cannot be written, keep `end()`.

        That is the state after the last step, which takes the room that was reserved.
        """
        try:
            remove(self.model)
            self.model.mkdir()
            yield self.model
            self.room.unlink(missing_ok=True)  # the rest of the model is small
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
    """Return the differences of a run from an earlier one, for people."""
    return [
        f"{name} (was {before.get(name)}, is {run.get(name)})"
        for name in sorted(run)
        if before.get(name) != run.get(name)
    ]


def of_length(before: Record, run: Record) -> bool:
    """Return whether a run differs from an earlier one only in how long it is."""
    return all(name in LENGTH or before.get(name) == run.get(name) for name in run)
