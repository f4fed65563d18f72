"""collect over a tree of Python, over git's count of its lines, and over the bare parse of it.

    python -m tests.benchmarks.collect [--files 10000] [--pairs 1]

reads Python files that are installed beside this project, the first so many by name.
"""

from __future__ import annotations

import argparse
import shutil
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.pairs import PYTHON, Comparison, report
from tests.benchmarks.records import STRUCTKIT

PARSE = """
import sys
from pathlib import Path
import tree_sitter, tree_sitter_python
parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language()))
for path in sorted(Path(sys.argv[1]).rglob("*.py")):
    parser.parse(path.read_bytes())
"""


def main(arguments: list[str] | None = None) -> None:
    """Run the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=1_000, help="how many files are read")
    parser.add_argument("--pairs", type=int, default=3, help="runs of each command")
    args = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        fill(Path(folder), args.files)
        report(comparisons(folder), args.pairs)


def comparisons(folder: str) -> list[Comparison]:
    """Chunks and functions over the bare parse, chunks over git, two workers over one."""
    chunks = [*STRUCTKIT, "collect", "-q", "--generated", folder]
    functions = [*chunks, "--unit", "function"]
    two = [*chunks, "--workers", "2"]
    parse = [PYTHON, "-c", PARSE, folder]
    count = ["git", "-C", folder, "grep", "--no-index", "-c", "."]
    return [
        Comparison("collect / tree-sitter's bare parse", chunks, parse, 2.5),
        Comparison("collect --unit function / tree-sitter's bare parse", functions, parse, 2.5),
        Comparison("collect / git grep -c .", chunks, count, 80),
        Comparison("collect --workers 2 / 1, by the clock", two, chunks, 0.62, by_clock=True),
    ]


def fill(folder: Path, count: int) -> None:
    """Copy files of the environment into a folder."""
    spec = find_spec("tree_sitter")
    assert spec and spec.origin
    installed = Path(spec.origin).parents[1]
    for path in islice(sorted(installed.rglob("*.py")), count):
        copy = folder / path.relative_to(installed)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


if __name__ == "__main__":
    main()
