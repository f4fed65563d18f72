"""Peers of `make repositories`, what time commands take, and its table.

    python -m tests.benchmarks.repositories semble --data FOLDER --queries FILE --model DIR -o RUN
    python -m tests.benchmarks.repositories ripgrep --data FOLDER --queries FILE -o RUN
    python -m tests.benchmarks.repositories timed FILE COMMAND…
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
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

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


@dataclass
class Peers:
    """A peer's answers about the repositories of some queries, and what they cost."""

    peer: Peer
    model: str
    data: str
    asked: str
    index: float = 0.0
    queries: float = 0.0
    hits: list[Record] = field(default_factory=list)
    passages: dict[str, Record] = field(default_factory=dict)

    def run(self) -> None:
        """Ask it everything."""
        files, queries = read(f"{self.data}/files.jsonl.gz"), read(self.asked)
        for repository in dict.fromkeys(query["repository"] for query in queries):
            with tempfile.TemporaryDirectory() as folder:
                for each in files:
                    if each["repository"] == repository:
                        path = Path(folder, each["path"])
                        path.parent.mkdir(parents=True, exist_ok=True)
                        path.write_text(each["code"], "utf-8")
                start = time.process_time()
                answer = self.peer(Path(folder), self.model)
                self.index += time.process_time() - start
                asked = [query for query in queries if query["repository"] == repository]
                self._ask(answer, repository, asked)

    def _ask(self, answer: Answer, repository: str, queries: list[Record]) -> None:
        for query in queries:
            before = spent()
            found = answer(query["query"])
            self.queries += spent() - before
            for rank, (path, first, last) in enumerate(found, 1):
                name = f"{repository}/{path}#L{first}-{last}"
                self.passages[name] = {
                    "id": name,
                    "doc_id": f"{repository}/{path}",
                    "lines": [first, last],
                }
                hit = {"query_id": query["id"], "doc_id": name, "score": -rank, "rank": rank}
                self.hits.append(hit)


def spent() -> float:
    """CPU seconds of this process and its children so far."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def write(file: str | Path, records: list[Record]) -> None:
    Path(file).write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))


def timed(file: str, command: list[str]) -> int:
    """Run a command, and write the CPU seconds that it takes."""
    before = spent()
    status = subprocess.run(command, check=False).returncode
    write(file, [{"seconds": spent() - before}])
    return status


def seconds(folder: str, name: str) -> float:
    """The CPU seconds of a step over all repositories."""
    return sum(read(file)[0]["seconds"] for file in Path(folder).glob(f"*/{name}.seconds"))


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


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["timed"]:
        return timed(arguments[1], arguments[2:])
    parser = argparse.ArgumentParser(prog="repositories")
    parser.add_argument("action", choices=("semble", "ripgrep", "table"))
    parser.add_argument("scores", nargs="*")
    for flag in ("--data", "--queries", "--model", "--folder", "-o"):
        parser.add_argument(flag, default="")
    options = parser.parse_intermixed_args(arguments)
    if options.action == "table":
        lines = table(options.data, options.folder, options.scores)
        Path(options.o).write_text("\n".join(lines) + "\n", "utf-8")
        return 0
    peers = Peers(
        {"semble": semble, "ripgrep": ripgrep}[options.action],
        options.model,
        options.data,
        options.queries,
    )
    peers.run()
    base = Path(options.o).with_suffix("")
    write(f"{base}.passages.jsonl", list(peers.passages.values()))
    write(f"{base}.costs.jsonl", [{"index": peers.index, "queries": peers.queries}])
    write(options.o, peers.hits)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
