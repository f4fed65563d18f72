"""Ten times the input: the peak memory of each command over that of a tenth.

    python -m tests.benchmarks.memory [PART OF A NAME …]

Real processes on records made of the fixtures. Fails where a command grows by more than a tenth.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.processes import STRUCTKIT, measured
from tests.jsonl import read, write

MAXIMUM = 1.1
TIMES = 10
# what is run, with `{model}`, `{corpus}`, `{texts}`, `{out}` and INPUT for files and NEW for a name
# that no other run has; the kind of records, and how many fill what is bounded: blocks of lines,
# windows, a tokenizer's cache
STAGES: dict[str, tuple[str, str, int]] = {
    "mask-entities": ("mask-entities INPUT --workers 1", "code", 2000),
    "mask-entities --workers 2": ("mask-entities INPUT --workers 2", "code", 10000),
    "html-variants": ("html-variants INPUT --workers 1", "pages", 1000),
    "parse-trees --parser balanced": (
        "parse-trees INPUT --parser balanced --workers 1", "texts", 10000
    ),
    "pair": ("pair INPUT", "code", 2000),
    "select": ("select INPUT --where language=python", "code", 5000),
    "encode to JSONL": ("encode -m {model} INPUT", "texts", 20000),
    "encode to .npy": ("encode -m {model} INPUT -o {out}.npy", "texts", 20000),
    "encode --quantize int8": (
        "encode -m {model} INPUT --quantize int8 -o {out}.npy", "texts", 20000
    ),
    "search, ten times the queries": ("search {corpus} --queries INPUT -k 10", "vectors", 1000),
    "search --method bm25, ten times the queries": (
        "search {texts} --method bm25 --queries INPUT -k 10", "texts", 1000
    ),
    "train contrastive, five steps": (
        "train contrastive INPUT --model {model} --batch-size 64 --max-steps 5 -o NEW",
        "pairs", 20000,
    ),
    "train self-strae, five steps": (
        "train self-strae INPUT --max-steps 5 -o NEW", "sentences", 20000
    ),
}  # fmt: skip


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
    command, kind, count = STAGES[stage]
    path = written(folder / "input.jsonl", kind, count * times)
    places = {"INPUT": path, "NEW": str(folder / f"{kind}-{times}")}
    words = [places.get(word, word) for word in command.format(**files).split()]
    return measured([*STRUCTKIT, *words, "-q"], environment={"OMP_NUM_THREADS": "1"}).peak


def main(*names: str) -> None:
    grown = []
    print("| command | records | peak | peak at ten times | ratio |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {
            "texts": written(folder / "corpus.jsonl", "texts", 2000),
            "corpus": written(folder / "vectors.jsonl", "vectors", 2000),
            "model": str(folder / "model"),
            "out": str(folder / "out"),
        }
        train = f"train static {files['texts']} --dimensions 64 -o {files['model']} -q"
        subprocess.run([*STRUCTKIT, *train.split()], check=True, stdout=subprocess.DEVNULL)
        for stage, (_, _, count) in STAGES.items():
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
