"""The values of each query that a report keeps beside it, as NAME.values.jsonl.gz.

    python -m experiments.kept --folder FOLDER REPORT.json=SYSTEM,SYSTEM …

puts systems of several reports side by side: FOLDER/values-SET.jsonl for each set of queries that
all of them have, which `python -m experiments.report gather` reads.

The file has a line for each set and run, with a list for each column. A column that equals that of
the first run of its set, as the ids of queries do, is left out.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from scipy.stats import rankdata

from structkit.embeddings.pairs import read_pairs
from structkit.scoring.classification import TRAIN_SPLIT, right_answers, split_pairs
from structkit.scoring.measures import Values
from structkit.scoring.similarity import bootstrap, correlation, cosines
from structkit.scoring.suite import MEAN_OF_TASKS, TaskResults

Record = dict[str, Any]


def name_of(run: str) -> str:
    """A system and its seed; the folder distinguishes runs of the same name.

    >>> name_of("raw@0"), name_of("runs/code/sda@1/go")
    ('raw@0', 'sda@1')
    """
    return Path(run).parent.name if "/" in run else run


def beside(table: Path) -> Path:
    """Where a table's values of each query are."""
    return table.with_suffix(".values.jsonl.gz")


def by_run(scored: Sequence[Record]) -> dict[str, list[Record]]:
    """The values of each query, by system and seed."""
    found: dict[str, list[Record]] = {}
    for record in scored:
        found.setdefault(name := name_of(record["run"]), []).append(record | {"run": name})
    return found


def keep(sets: Mapping[str, Sequence[Record]], table: Path) -> None:
    """Write the values of each query, a line for each set and run."""
    lines = []
    for name, scored in sets.items():
        first: Record = {}
        for run, values in by_run(scored).items():
            columns = {key: [each[key] for each in values] for key in values[0] if key != "run"}
            new = {key: column for key, column in columns.items() if first.get(key) != column}
            lines.append(orjson.dumps({"set": name, "run": run, **new}) + b"\n")
            first = first or columns
    beside(table).write_bytes(gzip.compress(b"".join(lines), mtime=0))


def kept(table: Path) -> dict[str, list[Record]]:
    """The values of each query of a table that was made before, by set."""
    found: dict[str, list[Record]] = {}
    first: dict[str, Record] = {}
    for line in gzip.decompress(beside(table).read_bytes()).splitlines():
        columns = orjson.loads(line)
        name, run = columns.pop("set"), columns.pop("run")
        columns = first.setdefault(name, columns) | columns
        for row in zip(*columns.values(), strict=True):
            found.setdefault(name, []).append({"run": run, **dict(zip(columns, row, strict=True))})
    return found


def pair_values(embedded: Path) -> dict[str, list[Record]]:
    """The values of each pair of a suite's tasks, from a file of their embeddings, by task.

    A task of similarity has the gold score of each pair and the rank of its cosine, since ranks are
    all that Spearman's correlation uses. A task of classification has the share of classifiers that
    are right.
    """
    pairs = read_pairs([str(embedded)])
    rows: dict[str, list[int]] = {}
    for row, record in enumerate(pairs.records):
        rows.setdefault(record["task"], []).append(row)
    found: dict[str, list[Record]] = {}
    for task, chosen in rows.items():
        tested = pairs.take(chosen)
        if any(record.get("split") == TRAIN_SPLIT for record in tested.records):
            learned, tested = split_pairs(tested)
            right = right_answers(learned, tested, seed=0).mean(axis=0)
            columns = {"right": right.tolist()}
        else:
            ranks = rankdata(cosines(tested.left, tested.right), "dense")
            columns = {"gold": tested.scores().tolist(), "rank": ranks.astype(int).tolist()}
        columns = {"query_id": [record["id"] for record in tested.records], **columns}
        found[task] = [
            {"run": embedded.stem, **dict(zip(columns, values, strict=True))}
            for values in zip(*columns.values(), strict=True)
        ]
    return found


def suite_results(sets: Mapping[str, Sequence[Record]], run: str) -> TaskResults:
    """What `score --task suite` says of a run, from the values of its pairs."""
    found: TaskResults = {}
    for task, rows in sets.items():
        chosen = [row for row in rows if row["run"] == run]
        if "rank" in chosen[0]:
            ranks, gold = (np.array([row[name] for row in chosen]) for name in ("rank", "gold"))
            value, draws = correlation(ranks, gold)
        else:
            right = np.array([row["right"] for row in chosen])
            value = float(right.mean())
            draws = bootstrap(len(right), right_share(right))
        found[task] = 100 * value, 100 * draws
    values, draws_of_tasks = zip(*found.values(), strict=True)
    found[MEAN_OF_TASKS] = float(np.mean(values)), np.mean(draws_of_tasks, axis=0)
    return found


def right_share(right: Values) -> Callable[[Any], Values]:
    """Return the mean of drawn pairs, (draws,), as a function of their rows (draws, pairs)."""
    return lambda drawn: np.asarray(right[drawn].mean(axis=1))


def join(sets: Mapping[str, list[Record]], table: Path) -> dict[str, list[Record]]:
    """The values of a table's runs too, where they were not made again."""
    before = kept(table)
    return {
        name: [each for run in (by_run(before[name]) | by_run(scored)).values() for each in run]
        for name, scored in sets.items()
    }


def main() -> None:
    flags = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    flags.add_argument("reports", nargs="+")
    flags.add_argument("--folder", type=Path, required=True)
    asked = flags.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    of_reports = []
    for name, _, some in (each.partition("=") for each in asked.reports):
        systems = some.split(",")
        of_reports.append(
            {
                of_set: [each for each in rows if each["run"].partition("@")[0] in systems]
                for of_set, rows in kept(Path(name)).items()
            }
        )
    for of_set in of_reports[0]:
        if all(of_set in each for each in of_reports):
            lines = [orjson.dumps(row) + b"\n" for each in of_reports for row in each[of_set]]
            (asked.folder / f"values-{of_set}.jsonl").write_bytes(b"".join(lines))


if __name__ == "__main__":
    main()
