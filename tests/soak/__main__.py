"""`make soak`: bad input for every command.

python -m tests.soak [--count 5000] [--seed N] [--after N] [--only COMMAND] [--jobs N]
    python -m tests.soak --case NAME [--folder FOLDER]
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.soak.soaking import Judged, Soaking


def report(judged: Sequence[Judged]) -> int:
    """Print how many cases of each command ran, and with findings; the exit status."""
    bad = Counter(each.command for each in judged if each.findings)
    print()
    for command, count in sorted(Counter(each.command for each in judged).items()):
        print(f"{command:<20} {count:>6,} cases {bad[command]:>5,} with findings")
    statuses = Counter(each.outcome.status for each in judged)
    shown = ", ".join(f"{count:,} x {status}" for status, count in statuses.most_common())
    slowest = max((each.outcome.seconds for each in judged), default=0)
    print(f"{len(judged):,} cases, statuses {shown}, slowest {slowest:.1f} s")
    print(f"{bad.total():,} with findings" if bad else "no findings")
    return int(bool(bad))


parser = argparse.ArgumentParser(description="Bad input for every command.")
parser.add_argument("--count", type=int, default=5000, help="cases that are tried")
parser.add_argument("--seed", type=int, default=0, help="draws the cases")
parser.add_argument("--after", type=int, default=0, help="cases that are passed over first")
parser.add_argument("--only", action="append", default=[], help="this command or session alone")
parser.add_argument("--jobs", type=int, default=1, help="cases that are tried at a time")
parser.add_argument("--case", default="", help="this case alone")
parser.add_argument("--folder", type=Path, help="work here, and leave what a --case made")
args = parser.parse_args()

with ExitStack() as stack:
    folder = args.folder or Path(stack.enter_context(TemporaryDirectory(prefix="soak-")))
    only = [args.case.partition(" | ")[0].removesuffix(" (skip)")] if args.case else args.only
    soaking = Soaking(folder, only, keep=bool(args.case))
    cases = (
        soaking.named(args.case) if args.case else soaking.drawn(args.after + args.count, args.seed)
    )
    sys.exit(report(soaking.run(cases[args.after :], jobs=args.jobs)))
