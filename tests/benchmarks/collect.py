"""collect over a tree of Python, over git's count of its lines, and over the bare parse of it.

    python -m tests.benchmarks.collect [--folder FOLDER]

reads the installed networkx by default.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

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
    parser.add_argument("--folder", help="a folder of Python")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each command")
    args = parser.parse_args(arguments)
    report(comparisons(args.folder or installed("networkx")), args.pairs)


def comparisons(folder: str) -> list[Comparison]:
    """Chunks and functions over the bare parse, chunks over git, and two workers over one."""
    chunks = [*STRUCTKIT, "collect", "-q", folder]
    functions = [*chunks, "--unit", "function"]
    parse = [PYTHON, "-c", PARSE, folder]
    count = ["git", "-C", folder, "grep", "--no-index", "-c", "."]
    return [
        Comparison("collect / tree-sitter's bare parse", chunks, parse, 4),
        Comparison("collect --unit function / tree-sitter's bare parse", functions, parse, 4),
        Comparison("collect / git grep -c .", chunks, count, 40),
        Comparison("collect --workers 2 / 1", [*chunks, "--workers", "2"], chunks, 1.2),
    ]


def installed(package: str) -> str:
    """The folder of a package of this environment."""
    spec = find_spec(package)
    assert spec and spec.origin, package
    return str(Path(spec.origin).parent)


if __name__ == "__main__":
    main()
