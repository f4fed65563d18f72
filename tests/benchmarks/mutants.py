"""How many of forty breaks of the product the tests notice: python -m tests.benchmarks.mutants.

`mutants.jsonl` has one break a line: a line of a file, where it `was` at older commits, what
becomes of it, and the tests that are to notice. Each is made in a copy of a commit, and its tests
are run until one fails. Two suites are compared by `--commit OLD` and `--commit HEAD`; what is
kept of a run is one line of JSON for each break, and the count. The breaks were drawn by chance,
each of an operator, a number or a constant, from files by their lengths; lines that a commit has
no longer are left out, and said. Of eight lines that went, another of the same file was drawn
(2026-11-26).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

KEPT = Path(__file__).with_suffix(".jsonl")
ORDERED = ("-p", "no:cacheprovider", "-p", "no:randomly")  # the nearest tests come first


def copied(commit: str, place: Path) -> str:
    """Write a commit's files into a folder; the Python of an environment that has them."""
    archive = subprocess.run(["git", "archive", commit], check=True, capture_output=True).stdout
    subprocess.run(["tar", "x", "-C", place], input=archive, check=True)
    (place / "structkit_plugins").symlink_to("plugins")
    venv.create(place / ".venv", symlinks=True)
    [packages] = (place / ".venv").glob("lib/*/site-packages")
    others = [path for path in sys.path if path.endswith("-packages")]
    (packages / "broken.pth").write_text("\n".join([str(place), *others]))
    return str(place / ".venv/bin/python")


def noticed(python: str, place: Path, tests: list[str], flags: list[str]) -> str:
    """The first test that fails; empty if none does."""
    done = subprocess.run(
        [python, "-m", "pytest", "-x", "-q", "--tb=no", *ORDERED, *flags, *tests],
        cwd=place,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode == 0:
        return ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0].split(" ", 1)[1] if failed else tests[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--first", type=int, default=40)
    parser.add_argument("flags", nargs="*", help="of pytest")
    given = parser.parse_args()
    seen = count = 0
    unfit: list[str] = []
    with tempfile.TemporaryDirectory(prefix="mutants") as name:
        place = Path(name)
        python = copied(given.commit, place)
        for line in KEPT.read_text("utf-8").splitlines()[: given.first]:
            each = json.loads(line)
            wholes = {
                path: (place / path).read_text("utf-8")
                for path in (each["path"], each.get("was", each["path"]))
                if (place / path).exists()
            }
            found = [path for path in wholes if wholes[path].splitlines().count(each["line"]) == 1]
            if not found:
                print(json.dumps({**each, "by": "the line is gone"}), flush=True)
                continue
            file, whole = place / found[0], wholes[found[0]]
            old, new = f"{each['line']}\n", f"{each['broken']}\n"
            file.write_text(whole.replace(f"\n{old}", f"\n{new}"), "utf-8")
            # its doctests, its nearest tests, and those of its room
            tests = [found[0], *(test for test in each["tests"] if (place / test).exists())]
            while by := noticed(python, place, tests, [*given.flags, *unfit]):
                file.write_text(whole, "utf-8")
                if not noticed(python, place, [by], given.flags):
                    break
                if "::" not in by:
                    raise SystemExit(f"{by} cannot be collected: install structkit first")
                unfit.append(f"--deselect={by}")  # it fails without a break too
                file.write_text(whole.replace(f"\n{old}", f"\n{new}"), "utf-8")
            file.write_text(whole, "utf-8")
            count, seen = count + 1, seen + bool(by)
            print(json.dumps({**each, "by": by}), flush=True)
    print(f"{seen} of {count} breaks are noticed by the tests of {given.commit}")


if __name__ == "__main__":
    main()
