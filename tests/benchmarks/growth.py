"""How time and memory grow with the input: records, pages, sentences, vectors and functions.

    python -m tests.benchmarks.growth [PART OF A COMMAND …]

runs each command on some records and on ten times as many, in real processes on records made of the
fixtures. It fails where the peak of memory grows by more than a tenth.

`make bench ONLY=growth` measures CPU seconds over 1,000, 10,000 and 100,000 of each. The slope is
that of the logarithms from 10,000 to 100,000, less what the start takes: 1 where ten times the
input takes ten times as long. docs/figures.py draws the seconds.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.processes import PYTHON, STRUCTKIT, measured
from tests.benchmarks.table import Given, tell
from tests.jsonl import read, write
from tests.searching.index_runs import matrix

MAXIMUM = 1.1
TIMES = 10
# what is run, with files in the places of words in capitals, and NEW for a name that no other run
# has; the kind of records, and how many fill what is bounded: blocks, windows, a tokenizer's cache
STAGES = {
    "mask-entities INPUT --workers 1": ("code", 2_000),
    "mask-entities INPUT --workers 2": ("code", 10_000),
    "html-variants INPUT --workers 1": ("pages", 1_000),
    "parse-trees INPUT --parser balanced --workers 1": ("texts", 10_000),
    "pair INPUT": ("code", 2_000),
    "select INPUT --where language=python": ("code", 5_000),
    "encode INPUT -m MODEL": ("texts", 20_000),
    "encode INPUT -m MODEL -o OUT.npy": ("texts", 20_000),
    "encode INPUT -m MODEL --quantize int8 -o OUT.npy": ("texts", 20_000),
    "search VECTORS --queries INPUT -k 10": ("vectors", 1_000),
    "search TEXTS --method bm25 --queries INPUT -k 10": ("texts", 1_000),
    "train contrastive INPUT --model MODEL --batch-size 64 --max-steps 5 -o NEW": ("pairs", 20_000),
    "train self-strae INPUT --max-steps 5 -o NEW": ("sentences", 20_000),
}


def made(kind: str) -> Callable[[int], dict[str, Any]]:
    """Endless records of a kind, by their numbers."""
    if kind == "vectors":
        draw = np.random.default_rng(0).normal(size=(100, 64)).round(3).tolist()
        return lambda n: {"id": f"v{n}", "embedding": draw[n % 100]}
    files = {"code": "code/train.jsonl", "pages": "pages/train.jsonl"}
    file = Path("fixtures", files.get(kind, "sentences/pairs.jsonl"))
    rows = read(file)

    def record(number: int) -> dict[str, Any]:
        row, name = rows[number % len(rows)], {"id": f"r{number}"}
        if kind in files:
            return {**row, **name}
        if kind == "sentences":
            return {**name, "text": row["text_a"]}
        text = f"{row['text_a']} {number}"
        return {**name, "query": text, "positive": row["text_b"], "text": text}

    return record


def written(path: Path, kind: str, count: int) -> str:
    record = made(kind)
    return write(path, *(record(number) for number in range(count)))


def peak(stage: str, times: int, folder: Path, files: dict[str, str]) -> int:
    kind, count = STAGES[stage]
    path = written(folder / "input.jsonl", kind, count * times)
    places = {**files, "INPUT": path, "NEW": str(folder / f"{kind}-{times}")}
    words = [places.get(word, word) for word in stage.split()]
    return measured([*STRUCTKIT, *words, "-q"], environment={"OMP_NUM_THREADS": "1"}).peak


SIZES = (1_000, 10_000, 100_000)
SLOPE = 1.05
FUNCTIONS = 20  # of a file that `ask` reads
ONE = "-q", "--workers", "1"
TICK = 0.001  # seconds: no difference is less


def of_records(kind: str, *command: str) -> Callable[[int, Path], list[str]]:
    """A command over so many records of a kind."""

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
    whole = "--max-file-bytes", "1000000000"
    return [*STRUCTKIT, "collect", *ONE, "--unit", "passage", *whole, str(path)]


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


def main(*names: str) -> None:
    grown = []
    print("| command | records | peak | peak at ten times | ratio |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {
            "TEXTS": written(folder / "corpus.jsonl", "texts", 2000),
            "VECTORS": written(folder / "vectors.jsonl", "vectors", 2000),
            "MODEL": str(folder / "model"),
            "OUT.npy": str(folder / "out.npy"),
        }
        train = f"train static {files['TEXTS']} --dimensions 64 -o {files['MODEL']} -q"
        subprocess.run([*STRUCTKIT, *train.split()], check=True, stdout=subprocess.DEVNULL)
        for stage, (_, count) in STAGES.items():
            if names and not any(part in stage for part in names):
                continue
            few, many = (peak(stage, times, folder, files) / 2**20 for times in (1, TIMES))
            sizes = f"{few:.0f} MiB | {many:.0f} MiB | {many / few:.2f}"
            print(f"| `{stage}` | {count:,} | {sizes} |", flush=True)
            if many > MAXIMUM * few:
                grown.append(stage)
    if grown:
        raise SystemExit(f"grown by more than a tenth: {', '.join(grown)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
