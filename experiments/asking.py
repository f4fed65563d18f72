"""What answers about a folder cost, `ask` beside semble with the same table: lines of Markdown.

    python -m experiments.asking FOLDER … [--semble PYTHON] [--runs 3] [--question …]

PYTHON is an interpreter that has semble, which reads code alone unless it is told otherwise, and
here also prose and configuration, as `ask` does. Medians of the runs, in which all take turns: CPU
seconds of all processes, and seconds by the clock. After edits means ten files have a line more.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from structkit.learning.folders import BUILTIN_FOLDER
from tests.benchmarks.processes import STRUCTKIT, Cost, compiled, measured

EDITED = 10  # files
SEMBLE = """
import os, sys
from semble import SembleIndex
from semble.types import ContentType
folder, table, kept, kinds, question = sys.argv[1:]
if os.path.exists(kept):
    index = SembleIndex.load_from_disk(kept)
else:
    contents = list(ContentType) if kinds == "all" else [ContentType.CODE]
    index = SembleIndex.from_path(folder, contents, model_path=table)
    index.save(kept)
assert index.search(question, top_k=10)
"""


def costs(folder: Path, semble: str, question: str) -> Iterator[tuple[str, str, Cost]]:
    """The system, which of its answers, and what that took, for one run."""
    with TemporaryDirectory() as scratch:
        copy, cache = Path(scratch, folder.name), Path(scratch, "cache")
        shutil.copytree(folder, copy, symlinks=True)
        single = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        for kinds in ("all", "code") if semble else ():
            name = "semble" if kinds == "all" else "semble, code alone"
            kept = f"{scratch}/{kinds}"
            command = [semble, "-c", SEMBLE, str(copy), str(BUILTIN_FOLDER), kept, kinds, question]
            for which in ("first", "next"):
                yield name, which, measured(command, environment=single)
        ask = [*STRUCTKIT, "ask", str(copy), question]
        for name, command in {
            "`ask`": [*ask, "--cache", f"{cache}/table"],
            "`ask --no-model`": [*ask, "--no-model", "--cache", f"{cache}/words"],
        }.items():
            for which in ("first", "next"):
                yield name, which, measured(command, environment=single)
        files = sorted(path for path in copy.rglob("*") if path.suffix in (".py", ".c", ".rst"))
        for path in files[:: max(1, len(files) // EDITED)][:EDITED]:
            with open(path, "a") as file:
                file.write("# edited\n")
        command = [*ask, "--cache", f"{cache}/table"]
        yield "`ask`", "after edits", measured(command, environment=single)


def table(folders: list[Path], semble: str, runs: int, question: str) -> Iterator[str]:
    """The lines of the table."""
    yield "| | first answer, CPU s (clock) | next | after 10 edits |"
    yield "|---|---:|---:|---:|"
    for folder in folders:
        files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        size = sum(path.stat().st_size for path in files) / 1e6
        yield f"| **{folder.name}**: {len(files):,} files, {size:,.0f} MB | | | |"
        found: dict[str, dict[str, list[Cost]]] = defaultdict(lambda: defaultdict(list))
        for _ in range(runs):
            for name, which, cost in costs(folder, semble, question):
                found[name][which].append(cost)
        for name, of_name in found.items():
            cells = [
                f"{median(each.cpu for each in some):.2f} "
                f"({median(each.seconds for each in some):.1f})"
                for which in ("first", "next", "after edits")
                if (some := of_name.get(which, []))
            ]
            yield f"| {' | '.join([name, *cells, *[''] * (3 - len(cells))])} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="asking", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--semble", default="", metavar="PYTHON")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--question", default="how are passwords hashed")
    options = parser.parse_args()
    compiled()
    for line in table(options.folders, options.semble, options.runs, options.question):
        print(line, flush=True)
    print(f"\nload {os.getloadavg()[2]:.1f}, medians of {options.runs} runs")


if __name__ == "__main__":
    main()
