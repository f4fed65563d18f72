"""A training's log: in the model folder, on stderr, and in a file or for TensorBoard.

Tests: tests/learning/training/test_log.py.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from structkit.extras import require
from structkit.learning.training.method import RunOptions
from structkit.learning.training.plan import Step
from structkit.progress import announce
from structkit.records.output import cannot_write

JSON = ".jsonl"
LOSSES = "losses.jsonl"  # the log of a training, in its model folder


class Log:
    """Log of a training: a line every `log_every` steps, with means since the line before.

    All lines are kept for the model folder, without what differs from run to run. On stderr they
    are JSON, or text if it is not a terminal.
    """

    def __init__(self, options: RunOptions, steps: int, *, silent: bool) -> None:
        self.every, self.steps, self.silent = options.log_every, steps, silent
        self.json = options.log_format == "json"
        self.path = None if silent else options.log_file
        self.file: JsonLines | Events | None = None
        self.lines: list[dict[str, Any]] = []
        self._clear()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write the lines into the log file, if there is one, while the block runs."""
        if self.path is not None:  # it replaces an earlier run's, and goes on after the lines
            try:
                if self.path.endswith(JSON):
                    self.file = JsonLines(self.path, self.lines)
                else:
                    self.file = Events(self.path, self.lines)
            except OSError as error:
                raise cannot_write(error, "written").at(self.path) from None
        try:
            yield
        finally:
            if self.file:
                self.file.close()

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
        """Keep a line, and write it with the numbers of this run alone."""
        self.lines.append(line)
        if self.file:
            self.file.write(line)
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
        """Write the kept lines into a model folder."""
        if self.lines:
            lines = (orjson.dumps(each) + b"\n" for each in self.lines)
            (folder / LOSSES).write_bytes(b"".join(lines))


def check_log_file(path: str | None) -> None:
    """Raise if a file of this name needs an extra that is not there."""
    if path is not None and not path.endswith(JSON):
        require("tensorboard", "tensorboard")


class JsonLines:
    """The lines of `losses.jsonl` in the model folder, while the training runs."""

    def __init__(self, path: str, lines: Sequence[Mapping[str, Any]]) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self.file = open(path, "wb")  # noqa: SIM115 closed at the end of the run
        for line in lines:
            self.write(line)

    def write(self, line: Mapping[str, Any]) -> None:
        self.file.write(orjson.dumps(line) + b"\n")
        self.file.flush()

    def close(self) -> None:
        self.file.close()


class Events:
    """Curve of each number, by its name; TensorBoard discards events after `lines`."""

    def __init__(self, path: str, lines: Sequence[Mapping[str, Any]]) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)
        board = require("torch.utils.tensorboard", "tensorboard")
        first = lines[-1]["step"] + 1 if lines else 0
        self.writer = board.SummaryWriter(path, purge_step=first)

    def write(self, line: Mapping[str, Any]) -> None:
        for name, value in line.items():
            if isinstance(value, int | float) and name != "step":
                self.writer.add_scalar(name, value, line["step"])
        self.writer.flush()

    def close(self) -> None:
        self.writer.close()
