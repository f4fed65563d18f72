"""Memory and time of training steps on a GPU: models of real shapes with random weights.

    python -m experiments.card memory [MODEL …]
    python -m experiments.card papers

`memory` has the cases of `experiments.sizes`, each in a process of its own: batches of
two chunks, in bf16. `papers` has a step with the settings of each paper; a second, longer training
says what a step takes without the start.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.peaks import WORDS, write_model
from experiments.sizes import CASES, CONFIGS, FLAGS, GB, TARGET
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train_method
from structkit.registry import load

MEMORY_STEPS, PAPER_STEPS, WARM_UP = 2, 10, 2
SANTA = {"batch_size": 16, "document_length": 240, "target_length": TARGET}
SEAL = {
    "batch_size": 8,
    "document_length": 4096,
    "negatives_per_query": 8,
    "stages": "element",
    "chunk_size": 8,
}
# what a row trains: its method, the model that it starts from, and its settings
PAPERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "SANTA, T5-base, bf16": ("santa", "T5-base", {**SANTA, "bf16": True}),
    "SANTA, T5-base, TF32": ("santa", "T5-base", SANTA),
    "SEAL, XLM-R-large, bf16, chunks of 8": ("seal", "XLM-R-large", {**SEAL, "bf16": True}),
    "StrAE": ("strae", "", {"batch_size": 128, "embedding_size": 100, "minimum_count": 1}),
    "Self-StrAE": ("self-strae", "", {"batch_size": 128, "embedding_size": 100}),
}
NEGATIVES = [f"negatives{each}" for each in ("", "_tagged", "_untagged", "_masked")]
TREE_WORDS, TREE_VOCABULARY = 20, 25_000


def text_of(number: int, length: int) -> str:
    """Return a text of so many words that differs from those of other numbers."""
    first = [WORDS[int(digit)] for digit in str(number)]
    return " ".join([*first, *(WORDS[at * at % 10] for at in range(length - len(first)))])


def record_of(number: int, length: int, negatives: int) -> dict[str, Any]:
    """Return a record of SANTA and SEAL; every second one is shorter by a quarter."""
    text = text_of(number, length if number % 2 else length * 3 // 4)
    others = [text_of(1000 * each + number, length) for each in range(1, negatives + 1)]
    return {
        "id": str(number),
        "query": WORDS[number % 10],
        "target": "<extra_id_0> " + " ".join(WORDS * TARGET),
        **dict.fromkeys(("positive", "tagged", "untagged", "masked"), text),
        **dict.fromkeys(NEGATIVES if negatives else (), others),
    }


def tree_of(number: int) -> dict[str, Any]:
    """Return a record of StrAE: a random tree over random words."""
    draw = np.random.default_rng(number)
    parts = [f"w{each}" for each in draw.integers(TREE_VOCABULARY, size=TREE_WORDS)]
    text = " ".join(parts)
    while len(parts) > 1:
        at = int(draw.integers(len(parts) - 1))
        parts[at : at + 2] = [f"(X {parts[at]} {parts[at + 1]})"]
    return {"id": str(number), "text": text, "tree": parts[0]}


def seconds_of(case: dict[str, Any], steps: int) -> float:
    """Train a case for some steps; return how long they took."""
    settings = load("method", case["method"])(**case["settings"], max_steps=steps)
    options = RunOptions(output=case["output"], overwrite=True, quiet=True)
    summary = train_method(case["method"], settings, [case["file"]], options)
    return steps * float(summary["seconds_per_step"])


def taken() -> list[str]:
    """Return the most that tensors have taken of the GPU, and that torch has."""
    most = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return [f"{each / GB:.1f} GB" for each in most]


def case_of(
    folder: str, method: str, settings: dict[str, Any], records: Iterator[dict[str, Any]]
) -> dict[str, Any]:
    """Return a case, whose records are in a file of the folder."""
    file = Path(folder, "records.jsonl")
    file.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    output = f"{folder}/trained"
    return {"method": method, "settings": settings, "file": str(file), "output": output}


def memory_rows(
    method: str, name: str, count: int, length: int, labels: list[str]
) -> Iterator[str]:
    """Yield the rows of a model and a chunk."""
    with tempfile.TemporaryDirectory() as folder:
        write_model(CONFIGS[name](), Path(folder, "start"))
        for label in labels:
            settings = {"model": f"{folder}/start", "batch_size": 2 * count, "chunk_size": count}
            settings |= {"document_length": length, "bf16": True, **FLAGS[label]}
            settings |= {"seal": {"stages": "element", "negatives_per_query": 0}}.get(method, {})
            records = (record_of(each, length, 0) for each in range(MEMORY_STEPS * 2 * count))
            case = case_of(folder, method, settings, records)
            command = [sys.executable, "-m", "experiments.card", "one", json.dumps(case)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
            told = "failed | " if done.returncode else done.stdout.splitlines()[-1]
            yield f"| {method} | {name} | {count} × {length:,} | {label or 'none'} | {told} |"


def memory(chosen: list[str]) -> Iterator[str]:
    """Yield the lines of the table of memory; three chunks are measured at a time."""
    yield "| method | model | chunk | flags | tensors | taken |"
    yield "|---|---|---:|---|---:|---:|"
    cases = [case for case in CASES if case[1] in (chosen or CONFIGS)]
    orders = [*FLAGS], [*reversed(FLAGS)]  # so that the largest are not there together

    def lane(number: int) -> list[str]:
        return list(memory_rows(*cases[number], orders[number % 2]))

    with ThreadPoolExecutor(3) as pool:
        for rows in pool.map(lane, range(len(cases))):
            yield from rows


def papers() -> Iterator[str]:
    """Yield the lines of the table of the papers' steps."""
    yield "| step | seconds | tensors | taken |"
    yield "|---|---:|---:|---:|"
    with tempfile.TemporaryDirectory() as folder:
        for name in {model for _, model, _ in PAPERS.values() if model}:
            write_model(CONFIGS[name](), Path(folder, name))
        for label, (method, model, settings) in PAPERS.items():
            numbers = range(PAPER_STEPS * settings["batch_size"])
            records: Iterator[dict[str, Any]] = map(tree_of, numbers)
            if model:
                settings = {**settings, "model": f"{folder}/{model}"}
                sizes = settings["document_length"], settings.get("negatives_per_query", 0)
                records = (record_of(each, *sizes) for each in numbers)
            case = case_of(folder, method, settings, records)
            seconds_of(case, 1)  # starts the GPU
            start = seconds_of(case, WARM_UP)
            step = (seconds_of(case, PAPER_STEPS) - start) / (PAPER_STEPS - WARM_UP)
            yield f"| {' | '.join([label, f'{step:.3f}', *taken()])} |"


def main() -> None:
    """Print a table, or measure one case."""
    what, *rest = sys.argv[1:]
    if what == "one":
        seconds_of(json.loads(rest[0]), MEMORY_STEPS)
        print(" | ".join(taken()))
        return
    for line in memory(rest) if what == "memory" else papers():
        print(line, flush=True)


if __name__ == "__main__":
    main()
