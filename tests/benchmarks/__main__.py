"""`make bench`: every benchmark that needs no files of its own, one after the other.

    make bench [ONLY='start score'] [DATA=../shared/data] [DGL=FOLDER]
    make bench-check

DATA is the folder of the real data: functions, pages and texts from there, not our own short ones.
DGL is where dgl is installed (see tests.benchmarks.strae). What is measured goes to
benchmarks.json; `--check` leaves that file as it is, and fails where something is worse than there
by more than a third.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import (
    banyan,
    collect,
    database,
    encode,
    html,
    indexes,
    languages,
    records,
    rows,
    santa,
    score,
    search,
    start,
    strae,
    table,
    training,
)

parser = argparse.ArgumentParser(description="Every benchmark, one after the other.")
parser.add_argument("--data", type=Path, help="the folder of codesearch/, structdoc/, wikitext/")
parser.add_argument("--dgl", help="folder where dgl is installed")
parser.add_argument("--only", nargs="*", help="some of them")
parser.add_argument("--check", action="store_true", help="compare with benchmarks.json")
args = parser.parse_args()


def data(part: str = "") -> list[str]:
    """The flag for a part of the real data, if there is any."""
    return ["--data", str(args.data / part)] if args.data else []


FEW = ["--pairs", "3"]
# sizes at which all of them take a quarter of an hour on an idle machine
BENCHMARKS: dict[str, Callable[[], None]] = {
    "records": records.main,
    "html": lambda: html.main([*data("structdoc"), *FEW, "--size", "12000000"]),
    "languages": lambda: languages.main([*data("codesearch"), *FEW, "--size", "4000000"]),
    "collect": lambda: collect.main(["--files", "500", *FEW]),
    "score": lambda: score.main(FEW),
    "start": start.main,
    "search": lambda: search.main(["--documents", "100000", "--repeat", "3"]),
    "indexes": lambda: indexes.main(data()),
    "database": lambda: database.main([]),
    "encode": lambda: encode.main([*data(), "--texts", "64", "--rounds", "3"]),
    "santa": santa.main,
    "training": lambda: training.main(["--rounds", "3"]),
    "strae": lambda: strae.main([*FEW, *(["--dgl", args.dgl] if args.dgl else [])]),
    "banyan": lambda: banyan.main([]),
}
chosen = args.only or list(BENCHMARKS)
if strangers := set(chosen) - set(BENCHMARKS):
    parser.error(f"no {', '.join(sorted(strangers))}; there are: {', '.join(BENCHMARKS)}")

measured = {}
for name in chosen:
    rows.ROWS.clear()
    BENCHMARKS[name]()
    measured[name] = list(rows.ROWS)
    if not args.check:
        table.write(table.FILE, {name: measured[name]})
if args.check:
    there, before = table.read(table.FILE)
    here = table.machine()
    if there["processor"] != here["processor"]:
        print(f"measured on {here['processor']}, but {table.FILE} on {there['processor']}")
    worse = [
        line for name, now in measured.items() for line in table.fallen(now, before.get(name, []))
    ]
    if worse:
        raise SystemExit("\n".join(["worse by more than a third:", *worse]))
else:
    print(table.markdown(table.machine(), (row for found in measured.values() for row in found)))
