"""The table of `make scale`: what each stage cost, as is told beside what it made.

python -m tests.benchmarks.scale FOLDER
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from structkit.embeddings.matrices import read_matrix
from structkit.records.jsonl import Records
from tests.benchmarks.table import machine

K = 10


def rows(folder: Path) -> Iterator[list[str]]:
    """A row for each stage: what, of how many, how many each second, CPU, memory, bytes."""
    pages = sum(len(read_matrix(str(file)).ids) for file in folder.glob("vectors-*.npy"))
    sample = len(read_matrix(str(folder / "minilm.npy")).ids)
    queries = sum(1 for _ in Records.read([str(folder / "queries.jsonl")]))
    stages = [
        ("`html-variants`", "variants-*", pages, "page"),
        ("`encode`, table of token vectors", "vectors-*", pages, "page"),
        ("`encode --quantize binary --reuse`", "codes-*", pages, "page"),
        ("`encode -m minilm`", "minilm", sample, "page"),
        ("`search` of each shard", "found-*", queries, "query"),
        ("`fuse --method merge`", "merged", queries, "query"),
        ("`search` of all shards", "whole", queries, "query"),
        ("`search` of codes, `--rescore`", "rescored", queries, "query"),
    ]
    for name, pattern, count, unit in stages:
        costs = [json.loads(file.read_text()) for file in folder.glob(f"{pattern}.cost")]
        size = sum(file.stat().st_size for file in made(folder, pattern))
        yield row(name, costs, count, unit, size)


def made(folder: Path, pattern: str) -> Iterator[Path]:
    """The data that a stage wrote: of embeddings, the arrays without ids."""
    for ending in (".npy", ".jsonl", ".jsonl.gz"):
        yield from folder.glob(pattern + ending)


def row(name: str, costs: Sequence[dict[str, Any]], count: int, unit: str, size: int) -> list[str]:
    cpu, seconds = (sum(cost[key] for cost in costs) for key in ("cpu", "seconds"))
    peak = max(cost["peak"] for cost in costs) / 2**20
    return [
        name,
        f"{count:,}",
        f"{cpu:,.0f}",
        f"{1000 * cpu / count:.2f} ms a {unit}",
        f"{count / seconds:,.0f}",
        f"{peak:,.0f} MiB",
        f"{size / count:,.0f}",
    ]


def recall(folder: Path) -> float:
    """The share of the ten best of exact search that codes and rescoring find."""
    exact, found = (
        {
            (hit["query_id"], hit["doc_id"])
            for hit in Records.read([str(folder / f"{name}.jsonl")])
            if hit["rank"] <= K
        }
        for name in ("whole", "rescored")
    )
    return len(exact & found) / len(exact)


def main(folder: Path) -> None:
    here = machine()
    shards = len(list(folder.glob("vectors-*.npy")))
    print(f"{shards} shards; {here['processor']}, one thread a process.\n")
    print(
        "| stage | of | CPU seconds | for one | a second, by the clock | memory | bytes for one |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    for cells in rows(folder):
        print(f"| {' | '.join(cells)} |")
    print(f"\nOf exact search's {K} best, codes and `--rescore` find {recall(folder):.3f}.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
