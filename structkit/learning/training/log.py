"""The log of a training: its losses, on stderr and in the model folder."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import orjson

from structkit.learning.folders.facts import LOSSES
from structkit.learning.training.plan import Step
from structkit.learning.training.settings import RunOptions
from structkit.progress import announce


class Log:
    """A line every `log_every` steps: means since the line before.

    All are kept for the model folder, without what differs from run to run. On stderr they are
    JSON, or text where it is not a terminal.
    """

    def __init__(self, options: RunOptions, steps: int, *, silent: bool) -> None:
        self.every, self.steps, self.silent = options.log_every, steps, silent
        self.json = options.log_format == "json"
        self.seconds = 0.0
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
