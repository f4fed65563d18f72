"""The files that the repair of a fault changed, found by its report: a table.

    python -m experiments.localization ROW… --data FOLDER --folder FOLDER -o TABLE

A row is `bm25` (passages by BM25 with the whole text), `title` (`ask` with the title alone), `ask`
or `minilm` (`ask` with the whole text, also with MiniLM instead of the table that ships).
"""

from __future__ import annotations

import argparse
import lzma
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

import structkit
from structkit.records.jsonl import Record
from structkit.scoring.measures import interval
from structkit.searching.lexical import LexicalIndex

DEPTHS = (1, 3, 5, 10)
PASSAGES = 10  # among which a changed line is looked for
TEST = re.compile(r"/(?:tests?|testing)/|/(?:test_|conftest)[^/]*$")
DEEP = 100  # passages, which are of more than ten files


def read(file: Path) -> Iterator[Record]:
    """The records of a file."""
    with lzma.open(file) as lines:
        yield from map(orjson.loads, lines)


def folders(data: Path, parent: Path) -> Iterator[tuple[Record, str]]:
    """Each report, and the folder with the files of its commit, which is written once."""
    trees = {tree["commit"]: tree["files"] for tree in read(data / "trees.jsonl.xz")}
    texts = {blob["sha"]: blob["text"] for blob in read(data / "blobs.jsonl.xz")}
    for issue in read(data / "issues.jsonl.xz"):
        folder = parent / issue["id"]
        unfinished = folder.with_suffix(".unfinished")
        if not folder.exists():
            for path, blob in trees[issue["commit"]].items():
                place = unfinished / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(texts[blob], "utf-8")
            os.rename(unfinished, folder)
        yield issue, str(folder)


def bm25(issue: Record, folder: str, cache: str) -> list[Record]:
    """Passages by BM25 with all words of a report, without tests, as `ask` leaves them out."""
    passages = [
        each
        for each in structkit.collect([folder], unit="chunk", workers=1)
        if not TEST.search(each["path"].removeprefix(folder))
    ]
    by_id = {each["id"]: each for each in passages}
    index = LexicalIndex.of([*by_id], (f"{each['path']} {each['code']}" for each in passages))
    return [by_id[doc_id] for doc_id, _ in index.search(issue["text"], DEEP)]


def asked(field: str, **options: Any) -> Callable[[Record, str, str], list[Record]]:
    """The answers of `ask` to a field of a report."""

    def answer(issue: Record, folder: str, cache: str) -> list[Record]:
        return list(structkit.ask(folder, [issue[field]], k=DEEP, cache=cache, **options))

    return answer


ROWS: dict[str, tuple[str, Callable[[Record, str, str], list[Record]]]] = {
    "bm25": ("BM25, whole text", bm25),
    "title": ("`ask`, title alone", asked("title")),
    "ask": ("`ask`, whole text", asked("text")),
    "minilm": ("`ask -m minilm`, whole text", asked("text", model="minilm")),
}


def judged(issue: Record, found: Sequence[Record], folder: str) -> list[float]:
    """Whether all files of a report are among the first 1, 3, 5, 10; and a changed line is there.

    >>> issue = {"files": ["b.py"], "hunks": [["b.py", 8, 9]]}
    >>> found = [{"path": f"x/{path}", "lines": [1, 8]} for path in ("a.py", "a.py", "b.py")]
    >>> judged(issue, found, "x")
    [0.0, 1.0, 1.0, 1.0, 1.0]
    """
    places = [(str(Path(each["path"]).relative_to(folder)), *each["lines"]) for each in found]
    files = list(dict.fromkeys(path for path, _, _ in places))
    changed = any(
        path == own and first <= last_changed and first_changed <= last
        for path, first, last in places[:PASSAGES]
        for own, first_changed, last_changed in issue["hunks"]
    )
    return [*(float(set(issue["files"]) <= set(files[:k])) for k in DEPTHS), float(changed)]


def table(rows: Sequence[str], data: Path, place: Path) -> Iterator[str]:
    """Lines of Markdown: a row for each way to ask."""
    depths = " | ".join(f"Acc@{k}" for k in DEPTHS)
    yield f"| system | {depths} | a changed line in {PASSAGES} passages |"
    yield f"| --- |{' ---: |' * (len(DEPTHS) + 1)}"
    projects: Counter[str] = Counter()
    for row in rows:
        name, answer = ROWS[row]
        values = []
        for issue, folder in folders(data, place / "folders"):
            projects[issue["repository"]] += row == rows[0]
            values.append(judged(issue, answer(issue, folder, str(place / "cache")), folder))
        shares = 100 * np.array(values)  # (reports, measures)
        lows, highs = interval(shares)
        cells = [
            f"{mean:.1f} [{low:.1f}, {high:.1f}]"
            for mean, low, high in zip(shares.mean(axis=0), lows, highs, strict=True)
        ]
        yield f"| {' | '.join([name, *cells])} |"
    yield ""
    yield (
        f"{sum(projects.values())} reports of {len(projects)} projects, percent: all files that "
        "the repair changed are among the first of the answers' files. 95 % bootstrap intervals."
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="localization")
    parser.add_argument("rows", nargs="+", choices=[*ROWS])
    for flag in ("--data", "--folder", "-o"):
        parser.add_argument(flag, required=True)
    options = parser.parse_intermixed_args()
    place = Path(options.folder)
    lines = list(table(options.rows, Path(options.data), place))
    Path(options.o).write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
