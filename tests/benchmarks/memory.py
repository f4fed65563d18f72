"""Ten times the input: the peak memory of each command over that of a tenth.

    python -m tests.benchmarks.memory [--only NAME …]

Real processes on records made of the fixtures. Fails where a command that shall not grow does so by
more than a tenth.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.processes import measured
from tests.benchmarks.records import STRUCTKIT

MOST = 1.1
TIMES = 10


@dataclass(frozen=True)
class Stage:
    """A command that reads INPUT: which records, and how many of them are a tenth of the larger.

    `{model}`, `{corpus}` and `{output}` are files; NEW is a name that no other run has.
    """

    name: str
    command: str
    records: str
    count: int


# the smaller number fills what is bounded: blocks of lines, windows, a tokenizer's cache
STAGES = [
    Stage("mask-entities", "mask-entities INPUT", "code", 2000),
    Stage("mask-entities --workers 2", "mask-entities INPUT --workers 2", "code", 10000),
    Stage("html-variants", "html-variants INPUT", "pages", 1000),
    Stage("parse-trees --parser balanced", "parse-trees INPUT --parser balanced", "texts", 10000),
    Stage("pair", "pair INPUT", "code", 2000),
    Stage("select", "select INPUT --where language=python", "code", 5000),
    Stage("encode to JSONL", "encode -m {model} INPUT", "texts", 20000),
    Stage("encode to .npy", "encode -m {model} INPUT -o {output}.npy", "texts", 20000),
    Stage(
        "encode --quantize int8",
        "encode -m {model} INPUT --quantize int8 -o {output}.npy",
        "texts",
        20000,
    ),
    Stage(
        "search, ten times the queries", "search {corpus} --queries INPUT -k 10", "vectors", 1000
    ),
    Stage(
        "search --method bm25, ten times the queries",
        "search {texts} --method bm25 --queries INPUT -k 10",
        "texts",
        1000,
    ),
    Stage(
        "train contrastive, five steps",
        "train contrastive INPUT --model {model} --batch-size 64 --max-steps 5 -o NEW",
        "pairs",
        20000,
    ),
    Stage(
        "train self-strae, five steps",
        "train self-strae INPUT --max-steps 5 -o NEW",
        "sentences",
        20000,
    ),
]


def inputs() -> dict[str, Callable[[int], dict[str, Any]]]:
    """Endless records of each kind, by their numbers."""
    code = rows("code/train.jsonl")
    pages = rows("pages/train.jsonl")
    texts = rows("sentences/pairs.jsonl")
    draw = np.random.default_rng(0).normal(size=(100, 64)).round(3).tolist()
    return {
        "code": lambda n: {**code[n % len(code)], "id": f"c{n}"},
        "pages": lambda n: {**pages[n % len(pages)], "id": f"p{n}"},
        "texts": lambda n: {"id": f"t{n}", "text": f"{texts[n % len(texts)]['text_a']} {n}"},
        "sentences": lambda n: {"id": f"s{n}", "text": texts[n % len(texts)]["text_a"]},
        "pairs": lambda n: {
            **{"id": f"p{n}", "query": f"{texts[n % len(texts)]['text_a']} {n}"},
            "positive": texts[n % len(texts)]["text_b"],
        },
        "vectors": lambda n: {"id": f"v{n}", "embedding": draw[n % 100]},
    }


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("fixtures", name).read_text("utf-8").splitlines()]


def written(path: Path, kind: str, count: int) -> str:
    record = inputs()[kind]
    with path.open("w", encoding="utf-8") as handle:
        for number in range(count):
            handle.write(json.dumps(record(number)) + "\n")
    return str(path)


def prepared(folder: Path) -> dict[str, str]:
    """A model, a corpus of embeddings and one of texts."""
    texts = written(folder / "corpus.jsonl", "texts", 2000)
    vectors = written(folder / "vectors.jsonl", "vectors", 2000)
    model = str(folder / "model")
    train = [*STRUCTKIT, "train", "static", texts, "--dimensions", "64", "-o", model, "-q"]
    subprocess.run(train, check=True, stdout=subprocess.DEVNULL)
    return {"model": model, "texts": texts, "corpus": vectors, "output": str(folder / "out")}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", help="some of the stages, by parts of their names")
    args = parser.parse_args(arguments)
    grown = []
    print("| command | records | peak | ten times as many | |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = prepared(folder)
        for stage in STAGES:
            if args.only and not any(part in stage.name for part in args.only):
                continue
            few, many = (peak(stage, stage.count * times, folder, files) for times in (1, TIMES))
            print(
                f"| `{stage.name}` | {stage.count:,} | {few / 2**20:.0f} MiB | "
                f"{many / 2**20:.0f} MiB | {many / few:.2f} |",
                flush=True,
            )
            if many > MOST * few:
                grown.append(stage.name)
    if grown:
        raise SystemExit(f"grown by more than a tenth: {', '.join(grown)}")


def peak(stage: Stage, count: int, folder: Path, files: dict[str, str]) -> int:
    path = written(folder / "input.jsonl", stage.records, count)
    places = {"INPUT": path, "NEW": str(folder / f"{stage.records}-{count}")}
    words = stage.command.format(**files).split()
    command = [*STRUCTKIT, *(places.get(word, word) for word in words), "-q"]
    with open(os.devnull, "wb") as sink:
        return measured(command, stdout=sink, environment={"OMP_NUM_THREADS": "1"}).peak


if __name__ == "__main__":
    main(sys.argv[1:])
