"""The examples at the end of each --help run as they stand, one after the other in one folder."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import WARM, environment
from typer import Context

from structkit.cli.main import app
from structkit.registry import load, names
from structkit.settings import COMMANDS, flag_of


def examples(name: str) -> list[str]:
    """The command lines at the end of a command's help."""
    epilog = app.get_command(Context(app), name).epilog
    return [line.strip() for line in epilog.partition("Examples:\n")[2].splitlines()]


EXAMPLES = {name: examples(name) for name in COMMANDS}
PROGRAM = f'set -eo pipefail; structkit() {{ {shlex.join(WARM)} "$@"; }}\n'
FIXTURES = {
    "functions.jsonl": "code/test.jsonl",
    "pages.jsonl": "pages/test.jsonl",
    "sentences.jsonl": "sentences/pairs.jsonl",
    "products.jsonl": "products/products.jsonl",
}


def shell(line: str, folder: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", PROGRAM + line],
        cwd=folder,
        env=environment(OMP_NUM_THREADS="1"),
        capture_output=True,
        text=True,
    )
    assert 0 == done.returncode, f"$ {line}\n{done.stderr}"
    assert done.stdout or {"-o", ">"} & {*line.split()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what users have: records, and two runs on the pages."""
    folder = tmp_path_factory.mktemp("examples")
    for name, path in FIXTURES.items():
        lines = Path("fixtures", path).read_text("utf-8").splitlines(keepends=True)
        (folder / name).write_text(
            "".join(lines if name == "functions.jsonl" else lines[:12]), "utf-8"
        )
    for part in ("src", "docs"):
        shutil.copytree(Path("fixtures/collect", part), folder / part)
    shutil.make_archive(str(folder / "package"), "zip", folder / "docs")
    text = (folder / "sentences.jsonl").read_text().replace('"text_a"', '"text"')
    (folder / "sentences.jsonl").write_text(text)
    bm25 = (
        "structkit search pages.jsonl --method bm25 --document-field html "
        "--queries pages.jsonl -o bm25.jsonl"
    )
    shell(bm25, folder)
    for part in range(2):  # as if each came from a part of the pages
        shutil.copy(folder / "bm25.jsonl", folder / f"part-{part}.jsonl")
    found = "structkit search functions.jsonl --method bm25 --queries functions.jsonl -o run.jsonl"
    shell(found, folder)
    return folder


# in the order of the pipeline: later examples read what earlier ones wrote
@pytest.mark.long
def test_examples_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for lines in EXAMPLES.values():
        assert lines
        for line in lines:
            shell(line, folder)
    monkeypatch.chdir(folder)
    for name in names("method"):
        line = load("method", name).example
        before, _, training = line.rpartition("| ")  # in one process: each would import torch
        if before:
            shell(f"{before.strip(' |')} > records.jsonl", folder)
            training += " records.jsonl"
        settings = load("method", name).__dataclass_fields__
        short = next((each for each in ("max_steps", "epochs") if each in settings), None)
        size = f" {flag_of(short)} 1" if short else ""
        again = " --overwrite" if Path("models", name).exists() else ""
        app(shlex.split(training + size + again)[1:] + ["-q"], standalone_mode=False)
        assert Path("models", name, "structkit.json").exists()
