"""The folder of a run, and its log: checkpoints while it trains, its model when it is done.

Tests: tests/learning/training/test_resume.py, tests/learning/training/test_full_disk.py,
tests/learning/training/test_held_out.py.
"""

import errno
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import orjson
import torch
from torch import Tensor

from structkit.errors import UserError, flag, wrong_usage
from structkit.learning.folders import LOSSES_FILE
from structkit.learning.metadata import METADATA_FILE, read_metadata
from structkit.learning.training.data import Step
from structkit.learning.training.devices import rank
from structkit.learning.training.method import RunOptions
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


class RunFolder:
    """`DIR`, and `DIR.partial`, where the run lives until `DIR` can appear complete.

    Errors: `UserError` where `DIR` or a stopped run is in the way, naming the flags that help.
    """

    def __init__(self, output: str, *, overwrite: bool, resume: bool) -> None:
        self.final = Path(output)
        self.run: Record = {}
        self.resume = resume
        if self.final.name in ("", ".."):
            raise wrong_usage(f"{flag('output', output)} names no new folder", "name one")
        self.partial = Path(beside(self.final, "", ".partial"))
        self.model = self.partial / "model"  # before `finish` moves it into place
        other = f"name another folder with {flag('output')}"
        try:
            refuse_name(self.final)
            if self.partial.is_symlink():  # it may lead anywhere
                raise UserError(f"{self.partial} is a link", f"remove it, or {other}")
        except OSError as error:  # a name that is too long
            raise cannot_write(error).at(output) from None
        final, latest = self.final, self.latest()
        there = any(final.iterdir()) if final.is_dir() else final.exists()
        if there and (overwrite or resume) and not (final / METADATA_FILE).is_file():
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
            raise UserError(
                f"a run into {final} stopped at step {step_of(latest):,}",
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
            raise cannot_write(error).at(str(self.partial)) from None
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
            raise UserError(
                f"the finished run in {self.final} differs in {', '.join(other)}",
                f"train it again with {flag('overwrite')}, or name another {flag('output')}",
            )
        say(f"the run in {self.final} is complete; {flag('overwrite')} trains it again")
        known = {name: metadata[name] for name in ("steps", "losses")}
        return {"folder": str(self.final), "method": metadata["method"], **known, "complete": True}

    def latest(self) -> Path | None:
        """Return the last complete checkpoint."""
        return next(iter(self.checkpoints()), None)

    def checkpoints(self) -> list[Path]:
        """Return all complete checkpoints, the last one first."""
        found = [path for path in self.partial.glob("step-*") if step_of(path) >= 0]
        return sorted(found, key=step_of, reverse=True)

    def save(self, step: int, state: Record) -> None:
        """Write a checkpoint, which appears only when complete, and remove those before it."""
        with whole_file(self.partial / f"step-{step}") as file:
            torch.save(state | {"run": self.run}, file)
        for path in self.checkpoints()[1:]:
            remove(path)

    def load(self) -> Record | None:
        """Load the last checkpoint, or None. Errors: it is damaged, or another run's."""
        latest = self.latest()
        if latest is None:
            return None
        again = f"start again with {flag('overwrite')}"
        try:
            state: Record = torch.load(latest, map_location="cpu", weights_only=True, mmap=True)
            before = state["run"]
            other = differences(before, self.run)
        except Exception:  # damage raises many kinds, and torch's advice is to load it unsafely
            raise UserError("is damaged or cut short", again).at(str(latest)) from None
        if other:
            raise UserError(
                f"the stopped run in {self.partial} differs in {', '.join(other)}",
                f"resume with the same settings and data, or {again}",
            )
        return state

    def check_room(self, weights: Mapping[str, Tensor]) -> None:
        """Raise where the disk has no room for the weights, before there is anything to lose."""
        sizes = {each.data_ptr(): each.nbytes for each in weights.values()}
        if shutil.disk_usage(self.partial).free < sum(sizes.values()):
            error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            raise cannot_write(error).at(str(self.partial))

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Open an empty folder for the finished model. Errors: it cannot be written."""
        try:
            remove(self.model)
            self.model.mkdir()
            yield self.model
        except Exception as error:
            if (refused := system_error(error)) is None:
                raise
            raise cannot_write(refused).at(str(self.final)) from None

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


def step_of(checkpoint: Path) -> int:
    """Return the number in the name of a checkpoint, -1 for another name."""
    number = checkpoint.name.removeprefix("step-")
    return int(number) if number.isdecimal() else -1


def differences(before: Record, run: Record) -> list[str]:
    """Return the differences of a run from an earlier one, for people."""
    return [
        f"{name} (was {before.get(name)}, is {run.get(name)})"
        for name in sorted(run)
        if before.get(name) != run.get(name)
    ]


class Log:
    """Log of a training: a line every `log_every` steps, with means since the line before.

    All lines are kept for the model folder, without what differs from run to run. On stderr they
    are JSON, or text if it is not a terminal.
    """

    def __init__(self, options: RunOptions, *, silent: bool) -> None:
        self.every = options.log_every
        self.json = options.log_format == "json" and not silent
        self.lines: list[Record] = []
        self._clear()

    def _clear(self) -> None:
        self._sums: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._records = 0
        self._since = time.monotonic()

    def state(self) -> Record:
        return {"lines": self.lines, "sums": dict(self._sums), "counts": dict(self._counts)}

    def load(self, state: Record) -> None:
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

    def line(self, line: Record, **passing: float) -> None:
        """Keep a line, and write it with the numbers of this run alone."""
        self.lines.append(line)
        if self.json:
            shown = orjson.dumps(line | passing).decode()
            print(shown, file=sys.stderr, flush=True)  # noqa: T201 the log

    def write(self, folder: Path) -> None:
        """Write the kept lines into a model folder."""
        if self.lines:
            lines = (orjson.dumps(each) + b"\n" for each in self.lines)
            (folder / LOSSES_FILE).write_bytes(b"".join(lines))
