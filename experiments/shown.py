"""Share of answers that show the lines that answer: `make -C experiments shown`.

    python -m experiments.shown --data ../shared/data/repositories [--model NAME] [--misses]

`shown.jsonl` has 60 questions about 13 repositories, and for each the lines that answer it,
labelled by hand from the text of the files. The first answer whose passage has such a line is
found; its lines are right if a list shows one of the labelled lines. Choices were made on the
questions of half of the repositories (development), and not on the others (held out).
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import structkit
from experiments.repositories import read, repositories
from structkit.records.jsonl import Record
from structkit.searching.lines import best_rows

LABELS = Path(__file__).with_suffix(".jsonl")
DEVELOPMENT = frozenset("flask express gson axum zod nlohmann-json".split())
K, ROWS, WIDTH = 10, 3, 74  # answers, and what a list of 80 columns shows of each


def judged(folder: Path, question: str, labels: list[Record], model: str) -> tuple[bool, bool]:
    """Whether an answer has a labelled line, and whether the first such one shows it."""
    for answer in structkit.ask(str(folder), [question], k=K, model=model):
        path = str(Path(answer["path"]).relative_to(folder))
        own = [range(each["first"], each["last"] + 1) for each in labels if each["file"] == path]
        first, last = answer["lines"]
        if any(first <= lines[-1] and lines[0] <= last for lines in own):
            rows = best_rows(answer, question, ROWS, WIDTH)
            return True, any(row.number in lines for row in rows for lines in own)
    return False, False


def shares(data: str, model: str, *, misses: bool) -> Iterator[str]:
    """Lines of Markdown: the shares of each half of the repositories, and of all."""
    labels = defaultdict[tuple[str, str], list[Record]](list)
    for each in read(LABELS):
        labels[each["repository"], each["question"]].append(each)
    asked = [{"repository": name, "query": question} for name, question in labels]
    found = defaultdict[str, list[tuple[bool, bool]]](list)
    for folder, queries in repositories(data, asked):
        for query in queries:
            own = labels[folder.name, query["query"]]
            result = judged(folder, query["query"], own, model)
            half = "development" if folder.name in DEVELOPMENT else "held out"
            found[half].append(result)
            found["all"].append(result)
            if misses and not all(result):
                yield f"{folder.name}: {query['query']}: " + ("lines", "passage")[not result[0]]
    yield "| questions | passage found | lines shown, of those found | of all |"
    yield "| --- | ---: | ---: | ---: |"
    for half in ("development", "held out", "all"):
        results = found[half]
        there, right = (sum(each) for each in zip(*results, strict=True))
        total = len(results)
        shown = f"{right / there:.3f} ({right} of {there})"
        yield f"| {half}: {total} | {there / total:.3f} | {shown} | {right / total:.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="shown")
    parser.add_argument("--data", required=True)
    parser.add_argument("--model", default="builtin")
    parser.add_argument("--misses", action="store_true")
    options = parser.parse_args()
    for line in shares(options.data, options.model, misses=options.misses):
        print(line)


if __name__ == "__main__":
    main()
