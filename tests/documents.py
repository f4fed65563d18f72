"""Pages of Markdown as sessions: their files are written, their commands and Python are run."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from conftest import WARM, environment

FENCE = re.compile(r"^( *)```(\w+) *([^\n]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([^"]+)"')
PROGRAM = (
    f'structkit() {{ "$PYTHON" {shlex.join(WARM[1:])} "$@"; }}\n'
    'pip() { "$OUTER" -m pip --python "$PYTHON" "$@"; }\n'
)


def commands(block: str) -> Iterator[tuple[str, str]]:
    """The commands of a session with the output that is shown below each."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        while command.endswith("\\") or command.count("'") % 2:
            line, _, shown = shown.partition("\n")
            command += "\n" + line
        yield command, shown


def matches(expected: str, seen: str) -> bool:
    """Whether an output is as it is shown; `…` stands for anything."""
    pattern = ".*".join(re.escape(piece) for piece in expected.split("…"))
    return re.fullmatch(pattern, seen, re.DOTALL) is not None


# or `collect` finds it among the files of a page
NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}


def run_session(block: str, folder: Path, **variables: str) -> None:
    """Run the commands of a block, and compare what they print with what is shown."""
    variables = {"PYTHON": sys.executable, "OMP_NUM_THREADS": "1", **NO_BYTECODE} | variables
    for command, expected in commands(block):
        done = subprocess.run(
            ["bash", "-c", PROGRAM + command],
            cwd=folder,
            env=environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert matches(expected, done.stdout), f"$ {command}\n{done.stdout}"


def run_page(path: Path, folder: Path, **variables: str) -> None:
    """Follow a page in a folder: write its files, run its sessions, in their order."""
    known: dict[str, object] = {}
    for indent, kind, options, body in FENCE.findall(path.read_text("utf-8")):
        body = re.sub(f"^{indent}", "", body, flags=re.MULTILINE)
        if title := TITLE.search(options):
            file = folder / title[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(body, "utf-8")
        elif kind == "console" and options != "terminal":
            run_session(body, folder, **variables)
        elif kind == "pycon":
            run_python(body, folder, path, known)


def run_python(body: str, folder: Path, path: Path, known: dict[str, object]) -> None:
    """Run a session of Python in a folder; later ones of the page know its names."""
    test = doctest.DocTestParser().get_doctest(body, known, path.name, str(path), 0)
    runner = doctest.DocTestRunner(
        verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    before, told = Path.cwd(), list[str]()
    os.chdir(folder)
    try:
        result = runner.run(test, out=told.append, clear_globs=False)
    finally:
        os.chdir(before)
    known.update(test.globs)
    assert not result.failed, "".join(told)
