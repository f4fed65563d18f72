"""`make bench`: benchmarks beside peers, one after the other; a quarter of an hour for all.

    make bench [ONLY='start score'] [DATA=../shared/data]
    make bench ONLY=million                                more than a quarter of an hour by itself
    make bench-check

DATA is the folder of codesearch/, structdoc/ and wikitext/: functions, pages and texts from there,
not our own short ones. What is measured goes to the file of this processor in benchmarks/;
`--check` leaves it as it is, and fails where something is worse than there by more than a third.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks import commands, encode, growth, search, strae, table, training
from tests.benchmarks.processes import compiled

BENCHMARKS = {
    "records": commands.records,
    "html": commands.html,
    "languages": commands.languages,
    "collect": commands.collect,
    "workers": commands.workers,
    "rows": commands.rows,
    "score": commands.score,
    "start": commands.start,
    "search": search.exact,
    "words": search.words,
    "indexes": search.indexes,
    "encode": encode.encode,
    "static": encode.static,
    "santa": training.santa,
    "training": training.contrastive,
    "strae": strae.strae,
    "growth": growth.growth,
    "maxsim": search.maxsim,
    "million": search.million,
}
LONG = {"million"}  # only where it is named
parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
parser.add_argument("--data", type=Path)
parser.add_argument("--only", nargs="*", choices=BENCHMARKS, help="some of them")
parser.add_argument("--check", action="store_true", help="compare with the file of this processor")
args = parser.parse_args()
given = table.Given(args.data)

compiled()
here = table.machine()
file = table.file_of(here)
if args.check and not file.exists():
    raise SystemExit(f"{file}: nothing was measured on this processor; make bench first")
measured = {}
for name in args.only or [name for name in BENCHMARKS if name not in LONG]:
    table.ROWS.clear()
    with TemporaryDirectory() as folder:
        BENCHMARKS[name](given, Path(folder))
    measured[name] = list(table.ROWS)
    if not args.check:
        table.write(file, {name: measured[name]})
if args.check:
    before = table.read(file)[1]
    worse = [
        line for name, now in measured.items() for line in table.fallen(now, before.get(name, []))
    ]
    if worse:
        raise SystemExit("\n".join(["worse by more than a third:", *worse]))
else:
    print(table.markdown({file.stem: (here, [row for of in measured.values() for row in of])}))
