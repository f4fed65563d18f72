"""The values of each query that a report keeps beside it, as NAME.values.jsonl.gz.

    python -m experiments.kept --folder FOLDER REPORT.json=SYSTEM,SYSTEM …

puts systems of several reports side by side: FOLDER/values-SET.jsonl for each set of queries that
all of them have, which `python -m experiments.report gather` reads.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

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
        for run, values in by_run(scored).items():
            columns = {key: [each[key] for each in values] for key in values[0] if key != "run"}
            lines.append(orjson.dumps({"set": name, "run": run, **columns}) + b"\n")
    beside(table).write_bytes(gzip.compress(b"".join(lines), mtime=0))


def kept(table: Path) -> dict[str, list[Record]]:
    """The values of each query of a table that was made before, by set."""
    found: dict[str, list[Record]] = {}
    for line in gzip.decompress(beside(table).read_bytes()).splitlines():
        columns = orjson.loads(line)
        rows, run = found.setdefault(columns.pop("set"), []), columns.pop("run")
        for row in zip(*columns.values(), strict=True):
            rows.append({"run": run, **dict(zip(columns, row, strict=True))})
    return found


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
