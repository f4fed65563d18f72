"""Questions about whole checkouts, answered by `ask`, semble and ripgrep: the right file's rank.

    python -m experiments.checkouts SYSTEM… --data FOLDER [--labelled FOLDER] --folder FOLDER

Writes the values of each question, `values-KIND.jsonl`, which `experiments.report gather` reads,
and prints a table of their means. Kinds are those of `questions.jsonl` in the data (code, docs,
paraphrase, tests), and `labelled`: the questions of `make repositories`, asked of whole checkouts.
"""

from __future__ import annotations

import argparse
import os
import tarfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import orjson

from experiments.repositories import (
    Found,
    Peer,
    cost,
    ours,
    read,
    ripgrep,
    semble,
    token_counter,
)
from structkit.learning.folders import BUILTIN_FOLDER
from structkit.records.jsonl import Record
from structkit.records.output import write_records
from structkit.scoring.measures import interval

# our own table in both programs
SYSTEMS: dict[str, Peer] = {
    "ask": ours(),
    "ask-words": ours(no_model=True),
    "ask-2000": ours(tokens=2_000),
    "ask-minilm": ours(model="minilm"),
    "semble": semble,
    "semble-all": partial(semble, content=("code", "docs", "config")),
    "ripgrep": ripgrep,
}
PASSAGES = 10  # that are read; semble's order of the first ones depends on their number
MISS = 8_000  # tokens of a question that they do not answer
MEASURES, DIGITS = ("RR@10", "hit@1", "hit@5", "tokens"), (3, 3, 3, 0)


def questions(data: Path, labelled: Path | None) -> Iterator[Record]:
    """Each question: `id`, `repository`, `kind`, `query`, and `relevant`: the paths that answer."""
    if labelled:
        yield from labelled_questions(labelled)
    for number, line in enumerate((data / "questions.jsonl").read_bytes().splitlines(), 1):
        each = orjson.loads(line)
        yield {**each, "id": f"{each['kind']}-{number:03}"}


def labelled_questions(folder: Path) -> Iterator[Record]:
    """Yield the questions of `make repositories`."""
    relevant = defaultdict[str, list[str]](list)
    for label in read(folder / "qrels.jsonl.gz"):
        relevant[label["query_id"]].append(label["doc_id"].partition("/")[2])
    for question in read(folder / "queries.jsonl.gz"):
        yield {**question, "kind": "labelled", "relevant": relevant[question["id"]]}


def unpacked(data: Path, name: str, parent: Path) -> Path:
    """The folder of a checkout, which is unpacked once."""
    folder, unfinished = parent / name, parent / f"{name}.unfinished"
    if not folder.exists():
        with tarfile.open(data / f"{name}.tar.xz") as archive:
            archive.extractall(unfinished, filter="data")
        os.rename(unfinished / name, folder)
        unfinished.rmdir()
    return folder


def judged(found: Sequence[Found], relevant: Sequence[str], size: Callable[[str], int]) -> Record:
    """The measures of an answer: of its files, in the order of their first passages, and its cost.

    >>> found = [Found(path, 1, 9, "one two") for path in ("a", "a", "b", "c")]
    >>> judged(found, ["b", "c"], lambda text: len(text.split()))
    {'RR@10': 0.5, 'hit@1': 0.0, 'hit@5': 1.0, 'tokens': 6.0}
    """
    files = list(dict.fromkeys(each.path for each in found))
    rank = next((rank for rank, path in enumerate(files, 1) if path in relevant), 0)
    tokens = cost(list(found), [{"doc_id": f"/{path}"} for path in relevant], size)
    return {
        "RR@10": 1 / rank if rank else 0.0,
        "hit@1": float(rank == 1),
        "hit@5": float(1 <= rank <= 5),
        "tokens": float(MISS if tokens is None else min(tokens, MISS)),
    }


def answered(
    systems: Sequence[str], asked: Sequence[Record], data: Path, parent: Path
) -> dict[str, list[Record]]:
    """The values of all questions by kind and system; they are asked a checkout at a time."""
    size, values = token_counter(), defaultdict[str, list[Record]](list)
    for name in dict.fromkeys(each["repository"] for each in asked):
        folder = unpacked(data, name, parent)
        for system in systems:
            answer = SYSTEMS[system](folder, str(BUILTIN_FOLDER))
            for each in (each for each in asked if each["repository"] == name):
                measures = judged(answer(each["query"], PASSAGES), each["relevant"], size)
                value = {"run": system, "query_id": each["id"], **measures}
                values[each["kind"]].append(value)
    return values


def table(values: dict[str, list[Record]]) -> Iterator[str]:
    """Lines of Markdown: for each kind of questions, a row for each system."""
    yield f"| questions | system | {' | '.join(MEASURES)} |"
    yield f"| --- | --- |{' ---: |' * len(MEASURES)}"
    for kind, rows in values.items():
        for system in dict.fromkeys(each["run"] for each in rows):
            own = np.array([[e[m] for m in MEASURES] for e in rows if e["run"] == system])
            ends = zip(own.mean(axis=0), *interval(own), strict=True)
            cells = [
                f"{mean:,.{digits}f} [{low:,.{digits}f}, {high:,.{digits}f}]"
                for (mean, low, high), digits in zip(ends, DIGITS, strict=True)
            ]
            yield f"| {' | '.join([f'{kind}: {len(own)}', system, *cells])} |"
    yield ""
    yield (
        f"Measures are of files; 95 % bootstrap intervals over questions. Tokens (MiniLM's) are "
        f"read until the first passage of a right file, of {PASSAGES}; a miss counts {MISS:,}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="checkouts")
    parser.add_argument("systems", nargs="+", choices=[*SYSTEMS])
    parser.add_argument("--labelled", type=Path)
    parser.add_argument(
        "--aside", nargs="*", default=[], help="repositories with rows of their own"
    )
    for flag in ("--data", "--folder"):
        parser.add_argument(flag, required=True, type=Path)
    options = parser.parse_intermixed_args()
    asked = list(questions(options.data, options.labelled))
    for question in asked:
        if question["repository"] in options.aside:
            question["kind"] += " aside"
    values = answered(options.systems, asked, options.data, options.folder)
    for kind, rows in values.items():
        write_records(rows, str(options.folder / f"values-{kind}.jsonl"))
    print(*table(values), sep="\n")


if __name__ == "__main__":
    main()
