"""Peers of `make repositories`, `ask` itself, and the table of all.

    python -m tests.benchmarks.repositories semble --data FOLDER --queries FILE --model DIR -o RUN
    python -m tests.benchmarks.repositories ripgrep --data FOLDER --queries FILE -o RUN
    python -m tests.benchmarks.repositories table --data FOLDER --folder FOLDER SCORES… -o TABLE

A peer's run is of its own passages, which are written beside it: `NAME.passages.jsonl`.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

import structkit

Record = dict[str, Any]
# a function from a repository's folder to one from a query to (path, first line, last line)
Answer = Callable[[str], list[tuple[str, int, int]]]
Peer = Callable[[Path, str], Answer]
PUBLISHED = ("bm25_raw", "bm25_ranked", "coderankembed", "coderankembed_hybrid", "semble_hybrid")
MEASURE = "nDCG@10"


def read(file: str | Path) -> list[Record]:
    """The records of a file."""
    opened = gzip.open if str(file).endswith(".gz") else open
    with opened(file, "rb") as lines:
        return [orjson.loads(line) for line in lines]


def semble(folder: Path, model: str) -> Answer:
    """semble over BM25 with its ranking, and with a static model of ours in place of its own."""
    if find_spec("semble") is None:
        sys.exit("semble is not installed: pip install semble, or make repositories PEERS=ripgrep")
    index = import_module("semble").SembleIndex.from_path(folder, model_path=model)

    def answer(query: str) -> list[tuple[str, int, int]]:
        chunks = [found.chunk for found in index.search(query, top_k=10)]
        return [(chunk.file_path, chunk.start_line, chunk.end_line) for chunk in chunks]

    return answer


def ripgrep(folder: Path, model: str) -> Answer:
    """Files by how many of their lines have a word of the query; each is one answer."""
    if shutil.which("rg") is None:
        sys.exit("rg is not installed: install ripgrep, or make repositories PEERS=semble")

    def answer(query: str) -> list[tuple[str, int, int]]:
        words = [each for word in query.split() for each in ("-e", word.strip(",.?!"))]
        command = ["rg", "--fixed-strings", "--ignore-case", "--count", "--no-ignore", *words, "."]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        found = [line.rpartition(":") for line in done.stdout.splitlines()]
        ranked = sorted((-int(count), path.removeprefix("./")) for path, _, count in found)
        return [(path, 1, 10**9) for _, path in ranked[:10]]

    return answer


def ours(**options: Any) -> Peer:
    """`ask` as it is installed."""

    def asked(folder: Path, model: str) -> Answer:
        def answer(query: str) -> list[tuple[str, int, int]]:
            cache = f"{folder}.cache"
            found = structkit.ask(str(folder), [query], k=10, cache=cache, **options)
            return [(str(Path(each["path"]).relative_to(folder)), *each["lines"]) for each in found]

        return answer

    return asked


PEERS: dict[str, Peer] = {
    "semble": semble,
    "ripgrep": ripgrep,
    "ask": ours(),
    "ask-words": ours(no_model=True),
}


def ask(peer: Peer, data: str, asked: str, model: str, run: str) -> None:
    """A peer's answers about the repositories of some queries, its passages, and what they cost."""
    index = queries = 0.0
    hits: list[Record] = []
    passages: dict[str, Record] = {}
    files, everything = read(f"{data}/files.jsonl.gz"), read(asked)
    for repository in dict.fromkeys(query["repository"] for query in everything):
        with tempfile.TemporaryDirectory() as folder:
            for each in files:
                if each["repository"] == repository:
                    path = Path(folder, each["path"])
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(each["code"], "utf-8")
            start = spent()
            answer = peer(Path(folder), model)
            answer("anything")  # what reads the folder with the first question has read it now
            index += spent() - start
            for query in (each for each in everything if each["repository"] == repository):
                start = spent()
                found = answer(query["query"])
                queries += spent() - start
                for rank, (name, first, last) in enumerate(found, 1):
                    document = f"{repository}/{name}"
                    passage = f"{document}#L{first}-{last}"
                    lines = [first, last]
                    passages[passage] = {"id": passage, "doc_id": document, "lines": lines}
                    hit = {"query_id": query["id"], "doc_id": passage}
                    hits.append({**hit, "score": -rank, "rank": rank})
    base = Path(run).with_suffix("")
    write(f"{base}.passages.jsonl", list(passages.values()))
    write(f"{base}.costs.jsonl", [{"index": index, "queries": queries}])
    write(run, hits)


def spent() -> float:
    """CPU seconds of this process and its children so far."""
    return sum(os.times()[:4])


def write(file: str | Path, records: list[Record]) -> None:
    Path(file).write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))


def seconds(folder: str, name: str) -> float:
    """The CPU seconds of a step over all repositories."""
    return sum(read(file)[0]["cpu"] for file in Path(folder).glob(f"*/{name}.seconds"))


def costs(folder: str, system: str, queries: int) -> tuple[str, str]:
    """CPU seconds of an index, and CPU milliseconds of a query."""
    if (beside := Path(folder, f"{system}.costs.jsonl")).exists():
        (found,) = read(beside)
        return f"{found['index']:.1f}", f"{found['queries'] / queries * 1000:.0f}"
    bare = system.partition("+")[0]
    encoder = bare.removeprefix("hybrid-")
    index = seconds(folder, "collect") + seconds(folder, f"{encoder}.index")
    return f"{index:.1f}", f"{seconds(folder, bare) / queries * 1000:.0f}"


def table(data: str, folder: str, files: list[str]) -> Iterator[str]:
    """Lines of Markdown: a row for each system, a column for each repository."""
    published = orjson.loads(Path(data, "published.json").read_bytes())
    values: dict[str, dict[str, Record]] = defaultdict(dict)
    for record in (record for file in files for record in read(file)):
        # the mean has their number in place of a name
        name = record["repository"] if isinstance(record["repository"], str) else "mean"
        values[record["run"]][name] = record
    names = [name for name in published["repositories"] if name in next(iter(values.values()))]
    yield f"| system | mean | {' | '.join(names)} | index s | query ms |"
    yield f"| --- | --- |{' ---: |' * (len(names) + 2)}"
    queries = sum(published["repositories"][name]["queries"] for name in names)
    for system, of in values.items():
        mean = of["mean"]
        low, high = (mean[f"{MEASURE}_{end}"] for end in ("low", "high"))
        cells = [f"{mean[MEASURE]:.3f} [{low:.3f}, {high:.3f}]"]
        cells += [f"{of[name][MEASURE]:.3f}" for name in names]
        yield f"| {' | '.join([system, *cells, *costs(folder, system, queries)])} |"
    for system in PUBLISHED:
        found = [published["repositories"][name]["ndcg@10"][system] for name in names]
        cells = [f"{sum(found) / len(found):.3f}", *(f"{value:.3f}" for value in found)]
        yield f"| {' | '.join([f'published: {system}', *cells])} | | |"
    yield ""
    yield (
        "nDCG@10 over chunks; 95 % bootstrap intervals over the queries of each repository. CPU "
        "seconds for all repositories: of ours each step is a command with its start."
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="repositories")
    parser.add_argument("action", choices=(*PEERS, "table"))
    parser.add_argument("scores", nargs="*")
    for flag in ("--data", "--queries", "--model", "--folder", "-o"):
        parser.add_argument(flag, default="")
    options = parser.parse_intermixed_args()
    if options.action == "table":
        lines = table(options.data, options.folder, options.scores)
        Path(options.o).write_text("\n".join(lines) + "\n", "utf-8")
    else:
        peer = PEERS[options.action]
        ask(peer, options.data, options.queries, options.model, options.o)


if __name__ == "__main__":
    main()
