"""`make bench`: every benchmark that needs no files of its own, one after the other.

    make bench [DATA=../shared/data] [DGL=FOLDER]

DATA is the folder of the real data: functions, pages and texts from there, not our own short ones.
DGL is where dgl is installed (see tests.benchmarks.strae).
"""

import argparse
from pathlib import Path

from tests.benchmarks import (
    banyan,
    collect,
    database,
    encode,
    html,
    languages,
    records,
    santa,
    score,
    search,
    start,
    strae,
    training,
)

parser = argparse.ArgumentParser(description="Every benchmark, one after the other.")
parser.add_argument("--data", type=Path, help="the folder of codesearch/, structdoc/, wikitext/")
parser.add_argument("--dgl", help="folder where dgl is installed")
args = parser.parse_args()


def data(part: str = "") -> list[str]:
    """The flag for a part of the real data, if there is any."""
    return ["--data", str(args.data / part)] if args.data else []


records.main()
collect.main([])
html.main(data("structdoc"))
strae.main(["--dgl", args.dgl] if args.dgl else [])
banyan.main([])
training.main([])
santa.main()
encode.main(data())
search.main([])
start.main()
database.main([])
score.main()
languages.main(data("codesearch"))
