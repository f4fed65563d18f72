"""What answers about a folder cost, `ask` beside semble with the same table: lines of Markdown.

    python -m experiments.asking FOLDER … [--semble PYTHON] [--runs 3] [--question …]

PYTHON is an interpreter that has semble, which reads only code by default, and
here also prose and configuration, as `ask` does. ripgrep counts the lines with each word of the
question, as in `experiments.repositories`; it keeps nothing, so that each of its answers is a first
one. Medians of the runs, in which all take turns: CPU
seconds of all processes, and seconds by the clock. After edits means ten files have a line more.
In a process means milliseconds of the CPU for a question to one that has answered others: the
median of twelve about Django, each new, and then four times more.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from structkit.learning.folders import BUILTIN_FOLDER
from tests.benchmarks.processes import PYTHON, STRUCTKIT, Cost, compiled, measured

EDITED = 10  # files
WARM_UP = "how are passwords hashed"
QUESTIONS = """
how are migrations squashed
where is the csrf token checked
how does the queryset cache results
parse multipart form data
what happens when a field is unique
template loader caches
session expiry middleware
how is a password hashed
admin changelist filters
lazy translation of strings
signals are sent after save
validate an email address
""".strip().split("\n")
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
RIPGREP = """
import sys
from pathlib import Path
from experiments.repositories import ripgrep
folder, question = sys.argv[1:]
assert ripgrep(Path(folder), "")(question, 10)
"""
# a process: its function `answers` is defined by one of the two below
WARM = """
import sys, time
from statistics import median
folder, kept, first, *others = sys.argv[1:]
{}
def took(question):
    start = time.process_time()
    answers(question)
    return 1000 * (time.process_time() - start)
took(first)
print(median(map(took, others)), median(took(each) for _ in range(4) for each in others))
"""
OURS_WARM = """
import structkit
answers = lambda question: list(structkit.ask(folder, question, cache=kept))
"""
SEMBLE_WARM = """
from semble import SembleIndex
index = SembleIndex.load_from_disk(kept)
answers = lambda question: index.search(question, top_k=10)
"""
SINGLE = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


def warm(python: str, answers: str, folder: Path, kept: str) -> list[float]:
    """Milliseconds of a new question, and of one that was asked before, in one process."""
    command = [python, "-c", WARM.format(answers), str(folder), kept, WARM_UP, *QUESTIONS]
    done = subprocess.run(command, env={**os.environ, **SINGLE}, capture_output=True, check=True)
    return [*map(float, done.stdout.split())]


def costs(
    folder: Path, semble: str, question: str
) -> Iterator[tuple[str, str, Cost | list[float]]]:
    """The system, which of its answers, and what that took, for one run."""
    with TemporaryDirectory() as scratch:
        copy, cache = Path(scratch, folder.name), Path(scratch, "cache")
        shutil.copytree(folder, copy, symlinks=True)
        for kinds in ("all", "code") if semble else ():
            name = "semble" if kinds == "all" else "semble, code alone"
            kept = f"{scratch}/{kinds}"
            command = [semble, "-c", SEMBLE, str(copy), str(BUILTIN_FOLDER), kept, kinds, question]
            for which in ("first", "next"):
                yield name, which, measured(command, environment=SINGLE)
            yield name, "in a process", warm(semble, SEMBLE_WARM, copy, kept)
        if shutil.which("rg"):
            command = [PYTHON, "-c", RIPGREP, str(copy), question]
            yield "ripgrep, whole files", "first", measured(command, environment=SINGLE)
        ask = [*STRUCTKIT, "ask", str(copy), question]
        for name, command in {
            "`ask`": [*ask, "--cache", f"{cache}/table"],
            "`ask --no-model`": [*ask, "--no-model", "--cache", f"{cache}/words"],
        }.items():
            for which in ("first", "next"):
                yield name, which, measured(command, environment=SINGLE)
        yield "`ask`", "in a process", warm(PYTHON, OURS_WARM, copy, f"{cache}/table")
        files = sorted(path for path in copy.rglob("*") if path.suffix in (".py", ".c", ".rst"))
        for path in files[:: max(1, len(files) // EDITED)][:EDITED]:
            with open(path, "a") as file:
                file.write("# edited\n")
        command = [*ask, "--cache", f"{cache}/table"]
        yield "`ask`", "after edits", measured(command, environment=SINGLE)


def cell(some: list[Cost | list[float]]) -> str:
    """The medians of some runs."""
    pairs = [(each.cpu, each.seconds) if isinstance(each, Cost) else each for each in some]
    one, other = map(median, zip(*pairs, strict=True))
    if isinstance(some[0], Cost):
        return f"{one:.2f} ({other:.1f})"
    return f"{one:.0f}, {other:.0f}"


def table(folders: list[Path], semble: str, runs: int, question: str) -> Iterator[str]:
    """The lines of the table."""
    columns = ("first", "next", "in a process", "after edits")
    yield (
        "| | first answer, CPU s (clock) | next | in a process: new, again (ms) | after 10 edits |"
    )
    yield "|---|---:|---:|---:|---:|"
    for folder in folders:
        files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        size = sum(path.stat().st_size for path in files) / 1e6
        yield f"| **{folder.name}**: {len(files):,} files, {size:,.0f} MB | | | | |"
        found: dict[str, dict[str, list[Cost | list[float]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for _ in range(runs):
            for name, which, cost in costs(folder, semble, question):
                found[name][which].append(cost)
        for name, of_name in found.items():
            cells = [cell(some) if (some := of_name.get(each)) else "" for each in columns]
            yield f"| {' | '.join([name, *cells])} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="asking", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--semble", default="", metavar="PYTHON")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--question", default=WARM_UP)
    options = parser.parse_args()
    compiled()
    for line in table(options.folders, options.semble, options.runs, options.question):
        print(line, flush=True)
    print(f"\nload {os.getloadavg()[2]:.1f}, medians of {options.runs} runs")


if __name__ == "__main__":
    main()
