"""The pages and the table of `make -C experiments scale`.

    python -m experiments.scale pages FILE… --pages 100000 --shard 0/10 > part.jsonl
    python -m experiments.scale table FOLDER

`pages` makes any number of HTML pages of real ones. The first are the real ones. Later ones repeat
them with other parts: each part that begins with a heading (<h2>) is, with probability 1/2, that of
a page drawn at random. Lengths and tags are thus real, and most pages differ, but their texts
repeat: how well they compress, or are found, says nothing of real pages. Page N is the same in any
shard. `table` says what each stage cost, as is told beside what it made.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from structkit.embeddings.reading import read_matrix
from structkit.records.jsonl import Record, Records
from tests.benchmarks.table import machine

HEADING = re.compile(r"(?=<h2[ >])")
K = 10
HEAD = """
| stage | items | CPU seconds | CPU per item | items/s (wall) | memory | bytes per item |
|---|---:|---:|---:|---:|---:|---:|"""


def made(pages: Sequence[tuple[str, str]], numbers: range) -> Iterator[Record]:
    """The pages of these numbers, from real ones: ids and HTML.

    >>> [page["id"] for page in made([("a", "<p>1</p><h2>2</h2>"), ("b", "<p>3</p>")], range(1, 4))]
    ['b', 'a.1', 'b.1']
    """
    parts = [part for _, html in pages for part in HEADING.split(html)[1:]] or [""]
    for number in numbers:
        copy, place = divmod(number, len(pages))
        name, html = pages[place]
        if copy:
            draw = random.Random(number)
            first, *others = HEADING.split(html)
            html = first + "".join(
                draw.choice(parts) if draw.random() < 0.5 else part for part in others
            )
            name = f"{name}.{copy}"
        yield {"id": name, "html": html}


def rows(folder: Path) -> Iterator[str]:
    """A row for each stage: what, of how many, CPU, how many each second, memory, bytes."""
    pages = sum(len(read_matrix(str(file)).ids) for file in folder.glob("vectors-*.npy"))
    sample = len(read_matrix(str(folder / "minilm.npy")).ids)
    queries = sum(1 for _ in Records.read([str(folder / "queries.jsonl")]))
    for name, pattern, count, unit in (
        ("`html-variants`", "variants-*", pages, "page"),
        ("`encode`, table of token vectors", "vectors-*", pages, "page"),
        ("`encode --quantize binary --reuse`", "codes-*", pages, "page"),
        ("`encode -m minilm`", "minilm", sample, "page"),
        ("`search` of each shard", "found-*", queries, "query"),
        ("`fuse --method merge`", "merged", queries, "query"),
        ("`search` of all shards", "whole", queries, "query"),
        ("`search` of codes, `--rescore`", "rescored", queries, "query"),
    ):
        costs = [json.loads(file.read_text()) for file in folder.glob(f"{pattern}.cost")]
        cpu, seconds = (sum(cost[key] for cost in costs) for key in ("cpu", "seconds"))
        peak = max(cost["peak"] for cost in costs) / 2**20
        endings = (".npy", ".jsonl", ".jsonl.gz")  # of embeddings, the arrays without ids
        files = [file for ending in endings for file in folder.glob(pattern + ending)]
        size = sum(file.stat().st_size for file in files)
        yield (
            f"| {name} | {count:,} | {cpu:,.0f} | {1000 * cpu / count:.2f} ms a {unit} "
            f"| {count / seconds:,.0f} | {peak:,.0f} MiB | {size / count:,.0f} |"
        )


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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=("pages", "table"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--pages", type=int, default=0)
    parser.add_argument("--shard", default="0/1", help="I/N: the I-th of N parts, from 0")
    args = parser.parse_args()
    if args.part == "table":
        [folder] = args.files
        shards = len(list(folder.glob("vectors-*.npy")))
        print(f"{shards} shards; {machine()['processor']}, one thread a process.\n{HEAD}")
        print(*rows(folder), sep="\n")
        print(f"\nOf exact search's {K} best, codes and `--rescore` find {recall(folder):.3f}.")
        return
    shard, shards = map(int, args.shard.split("/"))
    pages = [
        (record["id"], record["html"])
        for record in Records.read([str(file) for file in args.files])
    ]
    numbers = range(args.pages * shard // shards, args.pages * (shard + 1) // shards)
    for page in made(pages, numbers):
        sys.stdout.buffer.write(orjson.dumps(page, option=orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
