"""What the examples of --help write, run one after the other in a folder of records."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.warm.starting import PROGRAM

FIXTURES = {
    "functions.jsonl": "code/test.jsonl",
    "pages.jsonl": "pages/test.jsonl",
    "sentences.jsonl": "sentences/pairs.jsonl",
    "products.jsonl": "products/products.jsonl",
}
LONGEST, FEW = 60, 3  # of a value that is shown: characters, items


def results(lines: Iterable[str], **how: Any) -> dict[str, tuple[str, str]]:
    """The first record that each command line reads, and the first that it writes, made short."""
    found = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepare(folder, **how)
        for number, line in enumerate(lines := [*lines], 1):
            _say(f"example {number} of {len(lines)} of --help: {line}")
            read = next((folder / word for word in shlex.split(line) if word in FIXTURES), None)
            before = shown(read) if read else ""
            printed = shell(line, folder, **how)
            words = shlex.split(line.split("|")[-1])
            written = folder / words[words.index("-o") + 1] if "-o" in words else None
            printed = "" if "--help" in words else printed
            found[line] = (before, shown(written) if written else short(printed))
    return found


def _say(line: str) -> None:
    """Show what is done: on a terminal over the line before, else now and then."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{line:.78}")
        sys.stderr.flush()
    elif line.split()[1].endswith("0"):
        sys.stderr.write(f"{line}\n")


def refusals(lines: Iterable[str], **how: Any) -> dict[str, str]:
    """What lines say whose files have a second record that is only an id, or are not there."""
    found = {}
    with tempfile.TemporaryDirectory() as place:
        for name, path in FIXTURES.items():
            [first] = Path("fixtures", path).read_text("utf-8").splitlines()[:1]
            Path(place, name).write_text(f'{first}\n{{"id": "tea"}}\n', "utf-8")
        for line in lines:
            done = bash(line, Path(place), **how)
            told = [each for each in done.stderr.splitlines() if each.startswith("structkit: ")]
            if done.returncode and told:
                found[line] = f"{told[0]}\n(exit status {done.returncode})"
    return found


def prepare(folder: Path, **how: Any) -> None:
    """Put into a folder what users have: records, two runs on the pages, one on the functions."""
    for name, path in FIXTURES.items():
        lines = Path("fixtures", path).read_text("utf-8").splitlines(keepends=True)
        text = "".join(lines if name == "functions.jsonl" else lines[:12])
        text = text.replace('"text_a"', '"text"') if name == "sentences.jsonl" else text
        (folder / name).write_text(text, "utf-8")
    for part in ("src", "docs"):
        shutil.copytree(Path("fixtures/collect", part), folder / part)
    shutil.make_archive(str(folder / "package"), "zip", folder / "docs")
    search = "structkit search {0}.jsonl --method bm25 --queries {0}.jsonl {1}"
    shell(search.format("pages", "--document-field html -o bm25.jsonl"), folder, **how)
    for part in range(2):  # as if each came from a part of the pages
        shutil.copy(folder / "bm25.jsonl", folder / f"part-{part}.jsonl")
    shell(search.format("functions", "-o run.jsonl"), folder, **how)


def shell(
    line: str,
    folder: Path,
    variables: Mapping[str, str] = os.environ,
) -> str:
    """What a command line prints; it does what it is for, or the error says why not."""
    done = bash(line, folder, variables)
    if done.returncode or not (done.stdout or {"-o", ">"} & {*line.split()}):
        raise RuntimeError(f"$ {line}\n{done.stdout}{done.stderr}")
    return done.stdout


def bash(
    line: str,
    folder: Path,
    variables: Mapping[str, str] = os.environ,
) -> subprocess.CompletedProcess[str]:
    """A command line, after it ran in a folder."""
    made = f'set -eo pipefail; structkit() {{ {shlex.join(PROGRAM)} "$@"; }}\n{line}'
    return subprocess.run(
        ["bash", "-c", made], cwd=folder, env=variables, capture_output=True, text=True
    )


def shown(file: Path) -> str:
    """The first record of a file, made short; an array's shape; nothing of a picture or no file."""
    if file.suffix == ".npy":
        rows = np.load(file, mmap_mode="r")
        return f"{file.name}: {len(rows)} rows of {rows.shape[1]} numbers, {rows.dtype}"
    opened = gzip.open if file.suffix == ".gz" else open
    if not file.is_file() or file.suffix == ".svg":
        return ""
    with opened(file, "rb") as lines:
        return short(next(iter(lines), b"").decode("utf-8", "replace"))


def short(printed: str) -> str:
    r"""The first record of some, a field on each line and long values cut; or other text as it is.

    >>> short('{"id": "a", "embedding": [0.25, 0.5, 0.75, 1.0]}')
    '{\n  "id": "a",\n  "embedding": [0.25, 0.5, 0.75, …]\n}'
    """
    try:
        record = json.loads(printed.partition("\n")[0])
    except ValueError:
        return printed if printed.isprintable() or "\n" in printed else ""
    rows = ",\n".join(f"  {_json(name)}: {_json(_cut(value))}" for name, value in record.items())
    return f"{{\n{rows}\n}}".replace('"…"', "…")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= LONGEST else value[: LONGEST - 1] + "…"
    if isinstance(value, list):
        return [*map(_cut, value[:FEW]), *["…"] * (len(value) > FEW)]
    if isinstance(value, dict):
        return {name: _cut(each) for name, each in [*value.items()][:FEW]}
    return value
