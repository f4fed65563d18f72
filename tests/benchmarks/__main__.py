"""`make bench`: benchmarks beside peers, one after the other; a quarter of an hour for all.

    make bench [ONLY='start score'] [DATA=../shared/data]
    make bench-check

DATA is the folder of codesearch/, structdoc/ and wikitext/: functions, pages and texts from there,
not our own short ones. What is measured goes to benchmarks.json; `--check` leaves that file as it
is, and fails where something is worse than there by more than a third.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks import commands, encode, search, strae, table, training
from tests.benchmarks.processes import compiled

BENCHMARKS = {
    "records": commands.records,
    "html": commands.html,
    "languages": commands.languages,
    "collect": commands.collect,
    "score": commands.score,
    "start": commands.start,
    "search": search.exact,
    "indexes": search.indexes,
    "database": search.database,
    "encode": encode.encode,
    "santa": training.santa,
    "training": training.contrastive,
    "strae": strae.strae,
}
parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
parser.add_argument("--data", type=Path)
parser.add_argument("--only", nargs="*", choices=BENCHMARKS, help="some of them")
parser.add_argument("--check", action="store_true", help="compare with benchmarks.json")
args = parser.parse_args()
given = table.Given(args.data)

compiled()
measured = {}
for name in args.only or BENCHMARKS:
    table.ROWS.clear()
    with TemporaryDirectory() as folder:
        BENCHMARKS[name](given, Path(folder))
    measured[name] = list(table.ROWS)
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
