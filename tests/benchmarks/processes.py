"""What a command costs: seconds, CPU seconds and memory, of all its processes together.

python -m tests.benchmarks.processes FILE COMMAND…    runs it, and writes what it cost as JSON
"""

from __future__ import annotations

import compileall
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

PYTHON = sys.executable
STRUCTKIT = [PYTHON, "-m", "structkit"]
EVERY = 0.05  # seconds between looks at the processes
TICKS = os.sysconf("SC_CLK_TCK")  # of a second


@dataclass(frozen=True)
class Cost:
    """Seconds of the clock and of the CPU, and the maximum of bytes of memory at a time.

    Memory is the sum over a command's processes; a page that several of them share counts once.
    """

    seconds: float
    cpu: float
    peak: int


def compiled() -> None:
    """Compile our modules, as pip does when it installs them: no command compiles them again."""
    for folder in ("structkit", "plugins"):
        compileall.compile_dir(folder, quiet=1)


def measured(
    command: list[str],
    source: Path | None = None,
    target: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Cost:
    """Run a command from one file to another, by default from and to nothing; a failure raises."""
    with ExitStack() as opened:
        stdin = opened.enter_context(open(source or os.devnull, "rb"))
        stdout = opened.enter_context(open(target or os.devnull, "wb"))
        return watched(subprocess.Popen(command, stdin=stdin, stdout=stdout,
                                        env={**os.environ, **(environment or {})}))  # fmt: skip


def watched(process: subprocess.Popen[bytes]) -> Cost:
    """What a process has cost when it ends, since now; a failure raises."""
    start = time.perf_counter()
    watch = Watch(process.pid)
    watch.start()
    _, status, usage = os.wait4(process.pid, 0)
    watch.stopped.set()
    watch.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    # only what was seen has the processes without a waiting parent (Spark's)
    cpu = max(usage.ru_utime + usage.ru_stime, sum(watch.cpu.values()))
    return Cost(time.perf_counter() - start, cpu, watch.peak)


class Watch(threading.Thread):
    """Looks at a process and its descendants, again and again."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.peak = pid, 0
        self.cpu: dict[int, float] = {}  # seconds of each process, when last seen
        self.stopped = threading.Event()

    def run(self) -> None:
        while True:
            self.peak = max(self.peak, self.memory())
            if self.stopped.wait(EVERY):
                return

    def memory(self) -> int:
        """The bytes of all processes together, or the maximum that one of them ever had."""
        together, highest = 0, 0
        for pid in descendants(self.pid):
            times = content(f"/proc/{pid}/stat").rpartition(")")[2].split()[11:13]
            if times:  # it has not gone
                self.cpu[pid] = sum(map(int, times)) / TICKS
            together += kibibytes(f"/proc/{pid}/smaps_rollup").get("Pss", 0)
            highest = max(highest, kibibytes(f"/proc/{pid}/status").get("VmHWM", 0))
        return 1024 * max(together, highest)


def descendants(pid: int) -> Iterator[int]:
    """A process and all that it started, and these."""
    waiting = [pid]
    while waiting:
        yield (parent := waiting.pop())
        for thread in Path(f"/proc/{parent}/task").glob("*/children"):
            waiting.extend(map(int, content(str(thread)).split()))


def kibibytes(path: str) -> dict[str, int]:
    """The sizes in a file of /proc; none if the process is gone."""
    lines = (line.split() for line in content(path).splitlines())
    return {line[0].removesuffix(":"): int(line[1]) for line in lines if line[2:] == ["kB"]}


def content(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:
        return ""


def main(file: str, *command: str) -> int:
    """The status of the command; standard input and output are this process's."""
    try:
        cost = watched(subprocess.Popen(command))
    except subprocess.CalledProcessError as error:
        return abs(error.returncode)
    Path(file).write_text(json.dumps({**asdict(cost), "command": command}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
