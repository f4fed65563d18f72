"""Compare two commands: interleaved runs, CPU time of the process and its children."""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.rows import tell

PYTHON = sys.executable


def compiled() -> None:
    """Compile our modules, as pip does when it installs them: no command compiles them again."""
    for folder in ("structkit", "plugins"):
        compileall.compile_dir(folder, quiet=1)


@dataclass(frozen=True)
class Comparison:
    """A command of ours and its peer on the same input, with the ratio that we aim at.

    Without one, the row shows what a peer takes that does as much as ours.
    """

    name: str
    ours: list[str]
    peer: list[str]
    target: float | None
    input: Path | None = None
    environment: dict[str, str] = field(default_factory=dict)
    by_clock: bool = False

    def ratios(self, pairs: int = 5) -> list[float]:
        """Time of ours over the peer's, of interleaved pairs."""
        return [self.seconds(self.ours) / self.seconds(self.peer) for _ in range(pairs)]

    def seconds(self, command: list[str]) -> float:
        """Seconds of one run: of the CPU, its children included, or of the clock."""
        start = time.perf_counter()
        with open(self.input or os.devnull, "rb") as stdin, open(os.devnull, "wb") as sink:
            environment = {**os.environ, **self.environment}
            process = subprocess.Popen(command, stdin=stdin, stdout=sink, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
        assert status == 0, command
        if self.by_clock:
            return time.perf_counter() - start
        return usage.ru_utime + usage.ru_stime


def report(comparisons: list[Comparison], pairs: int = 5) -> None:
    """Print one line for each comparison: median ratio, range, target."""
    compiled()
    for comparison in comparisons:
        tell(comparison.name, comparison.ratios(pairs), comparison.target)
