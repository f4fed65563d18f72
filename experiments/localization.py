"""The files that the repair of a fault changed, found by its report: a table.

    python -m experiments.localization ROW… --data FOLDER --folder FOLDER -o TABLE

A row is `bm25` (passages by BM25 with the whole text), `title` (`ask` with the title alone), `ask`
(with the whole text), `parts` (a row without each part of this search), or `held-out` (for each
project the parts that find most for the others, of all combinations). With `--model`, `title` and
`ask` are asked with this model too, and the differences are rows.
"""

from __future__ import annotations

import argparse
import lzma
import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from unittest.mock import patch

import numpy as np
import orjson

import structkit
from structkit.asking import report
from structkit.embeddings.vectors import Floats
from structkit.records.jsonl import Record
from structkit.scoring.measures import interval
from structkit.searching.lexical import LexicalIndex
from structkit.searching.options import WordOptions

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
    texts = (f"{each['path']} {each['code']}" for each in passages)
    index = LexicalIndex.of([*by_id], texts, WordOptions())
    return [by_id[hit.doc_id] for hit in index.search(issue["text"], DEEP)]


Answer = Callable[[Record, str, str], list[Record]]


def asked(field: str, model: str | None = None) -> Answer:
    """The answers of `ask` to a field of a report."""

    def answer(issue: Record, folder: str, cache: str) -> list[Record]:
        return list(structkit.ask(folder, [issue[field]], k=DEEP, cache=cache, model=model))

    return answer


def searched(chosen: Sequence[str]) -> Answer:
    """The answers of `ask` to the whole text, by some of the parts of its search."""

    def parts(
        text: str, parts: Callable[[str], dict[str, str]] = report.report_parts
    ) -> dict[str, str]:
        return {name: part if name in chosen else "" for name, part in parts(text).items()}

    def answer(issue: Record, folder: str, cache: str) -> list[Record]:
        lacking = {"report_parts": parts} | ({} if "kinds" in chosen else {"RARE_KIND_VALUE": 1.0})
        with patch.dict(vars(report), lacking):
            return asked("text")(issue, folder, cache)

    return answer


PARTS = ("text", "title", "names", "kinds")
CHOICES = [
    chosen
    for count in range(len(PARTS), 0, -1)
    for chosen in combinations(PARTS, count)
    if chosen != ("kinds",)
]
ROWS: dict[str, dict[str, Answer]] = {
    "bm25": {"BM25, whole text": bm25},
    "title": {"`ask`, title alone": asked("title")},
    "ask": {"`ask`, whole text": asked("text")},
    "parts": {
        f"… without {part}": searched([each for each in PARTS if each != part]) for part in PARTS
    },
    "held-out": {" ".join(chosen): searched(chosen) for chosen in CHOICES},
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


def held_out(values: Sequence[Floats], projects: Sequence[str]) -> Floats:
    """The values of each report by the choice that has the highest Acc@1, 3, 5 of other projects.

    Each project has the same weight. `values` has those of each choice, (reports, measures).

    >>> choices = [np.array([[9, 9, 9], [1, 1, 1]]), np.array([[2, 2, 2], [8, 8, 8]])]
    >>> held_out(choices, ["flask", "xarray"]).tolist()
    [[2, 2, 2], [1, 1, 1]]
    """
    of, found = np.array(projects), np.empty_like(values[0])
    means = {  # of each choice
        project: [float(each[of == project, :3].mean()) for each in values]
        for project in dict.fromkeys(projects)
    }
    for project in means:
        others = [means[other] for other in means if other != project]
        best = int(np.argmax(np.round(np.mean(others, axis=0), 9)))
        found[of == project] = values[best][of == project]
    return found


def table(rows: Sequence[str], data: Path, place: Path, model: str | None = None) -> Iterator[str]:
    """Lines of Markdown: a row for each way to ask. All ask about a folder, then about the next."""
    answers = {name: answer for row in rows for name, answer in ROWS[row].items()}
    trained = {}
    if model:
        for row, field in (("title", "title"), ("ask", "text")):
            (before,) = ROWS[row]
            trained[before] = f"{before}, with the model"
            answers[trained[before]] = asked(field, model=model)
    projects, found = list[str](), list[list[list[float]]]()
    for issue, folder in folders(data, place / "folders"):
        projects.append(issue["repository"])
        cache = str(place / "cache")
        found.append(
            [judged(issue, each(issue, folder, cache), folder) for each in answers.values()]
        )
    # each (reports, measures), in percent
    values = dict(zip(answers, 100 * np.array(found).swapaxes(0, 1), strict=True))
    if "held-out" in rows:
        choices = [values.pop(" ".join(chosen)) for chosen in CHOICES]
        values["… its parts chosen on the other projects"] = held_out(choices, projects)
    values |= {
        f"{after} − without": values[after] - values[name] for name, after in trained.items()
    }
    depths = " | ".join(f"Acc@{k}" for k in DEPTHS)
    yield f"| system | {depths} | a changed line in {PASSAGES} passages |"
    yield f"| --- |{' ---: |' * (len(DEPTHS) + 1)}"
    for name, shares in values.items():
        lows, highs = interval(shares)
        cells = [
            f"{mean:.1f} [{low:.1f}, {high:.1f}]"
            for mean, low, high in zip(shares.mean(axis=0), lows, highs, strict=True)
        ]
        yield f"| {' | '.join([name, *cells])} |"
    yield ""
    yield (
        f"{len(projects)} reports of {len({*projects})} projects, percent: all files that "
        "the repair changed are among the first of the answers' files. 95 % bootstrap intervals."
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="localization")
    parser.add_argument("rows", nargs="+", choices=[*ROWS])
    for flag in ("--data", "--folder", "-o"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--model")
    options = parser.parse_intermixed_args()
    place = Path(options.folder)
    lines = list(table(options.rows, Path(options.data), place, options.model))
    Path(options.o).write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
