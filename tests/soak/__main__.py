"""`make soak`: bad input for every command.

python -m tests.soak [--count 5000] [--seed N] [--after N] [--only COMMAND] [--jobs N]
    python -m tests.soak --case NAME [--folder FOLDER]
"""

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.soak.report import report
from tests.soak.soaking import Soaking

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
