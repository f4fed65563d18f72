"""CPU seconds over 1,000, 10,000 and 100,000 records, pages, sentences, vectors and functions.

The slope is that of the logarithms from 10,000 to 100,000, less what the start takes: 1 where ten
times the input takes ten times as long. docs/figures.py draws the seconds.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.benchmarks.memory import written
from tests.benchmarks.processes import PYTHON, STRUCTKIT, measured
from tests.benchmarks.table import Given, tell
from tests.searching.index_runs import matrix

SIZES = (1_000, 10_000, 100_000)
SLOPE = 1.05
FUNCTIONS = 20  # of a file that `ask` reads
ONE = "-q", "--workers", "1"
TICK = 0.001  # seconds: no difference is less


def of_records(kind: str, *command: str) -> Callable[[int, Path], list[str]]:
    """A command over so many records of a kind of `memory`."""

    def made(count: int, folder: Path) -> list[str]:
        return [*command, written(folder / f"{kind}-{count}.jsonl", kind, count)]

    return made


def search(count: int, folder: Path) -> list[str]:
    """100 queries over so many rows."""
    draw = np.random.default_rng(0)
    files = [
        matrix(folder / f"{name}-{rows}.npy", draw.normal(size=(rows, 64)).astype("f4"),
               [f"{number:06}" for number in range(rows)])
        for name, rows in (("c", count), ("q", 100))
    ]  # fmt: skip
    return [*STRUCTKIT, "search", files[0], "--queries", files[1]]


def functions(numbers: range) -> str:
    """The text of a file of functions, each with its number."""
    code = [json.loads(row)["code"] for row in Path("fixtures/code/train.jsonl").open()]
    return "\n\n".join(f"# {number}\n{code[number % len(code)]}" for number in numbers)


def definitions(count: int, folder: Path) -> list[str]:
    """The passages of one file of so many functions."""
    path = folder / f"one-{count}.py"
    path.write_text(functions(range(count)), "utf-8")
    return [
        *STRUCTKIT,
        "collect",
        *ONE,
        "--unit",
        "passage",
        "--max-file-bytes",
        "1000000000",
        str(path),
    ]


def ask(count: int, folder: Path) -> list[str]:
    """The first question about files of so many functions."""
    source = folder / f"source-{count}"
    for file in range(max(1, count // FUNCTIONS)):
        path = source / f"{file // 100}" / f"{file}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        some = range(file * FUNCTIONS, min(count, (file + 1) * FUNCTIONS))
        path.write_text(functions(some), "utf-8")
    cache = str(folder / f"cache-{count}")
    return [*STRUCTKIT, "ask", "-q", str(source), "what has a low priority", "--cache", cache]


NOTHING = """
import sys
from structkit.records.jsonl import Stage
from structkit.records.stream import Stream
Stream(sys.argv[1:]).run(Stage(lambda record: record))
"""
WAYS: dict[str, Callable[[int, Path], list[str]]] = {
    "records": of_records("code", PYTHON, "-c", NOTHING),
    "pages": of_records("pages", *STRUCTKIT, "html-variants", *ONE),
    "trees": of_records("sentences", *STRUCTKIT, "parse-trees", "--parser", "balanced", *ONE),
    "search": search,
    "definitions of one file": definitions,
    "ask": ask,
}


def growth(given: Given, folder: Path) -> None:
    """Seconds at each size, and the slope, of each kind of work."""
    for name, made in WAYS.items():
        start = min(measured(made(1, folder)).cpu for _ in range(given.rounds))
        taken = []
        for size in SIZES:
            command = made(size, folder)
            # what `ask` keeps is there after the first time
            rounds = given.rounds if size < SIZES[-1] and name != "ask" else 1
            seconds = [measured(command).cpu for _ in range(rounds)]
            taken.append(max(statistics.median(seconds) - start, TICK))
            tell(f"growth, {name}: CPU seconds of {size:,}", seconds, unit=" s")
        slope = math.log10(taken[-1] / taken[-2])
        tell(f"growth, {name}: slope of the logarithms", [slope], SLOPE, unit="")
