"""Systems of several reports side by side: the values of each query that the reports kept.

    python -m experiments.kept --folder FOLDER REPORT.json=SYSTEM,SYSTEM …

It writes FOLDER/values-SET.jsonl for each set of queries that all reports have, which
`python -m experiments.report gather` reads.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import orjson

from experiments.report import kept


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
