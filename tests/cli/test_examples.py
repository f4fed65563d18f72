"""The examples at the end of each --help run as they stand, one after the other in one folder."""

import shlex
from pathlib import Path

import pytest
from conftest import environment

from docs.help_examples import prepare, shell
from docs.manual import commands, examples
from structkit.cli.main import app
from structkit.errors import flag
from structkit.registry import load, names

METHOD = "structkit-train-"  # would train a whole model
EXAMPLES = [
    line
    for name, command, _ in commands()
    if not name.startswith(METHOD)
    for line in examples(command)
]
RUN = {"variables": environment(OMP_NUM_THREADS="1")}


# in the order of the pipeline: later examples read what earlier ones wrote
@pytest.mark.long
def test_examples_run(tmp_path, monkeypatch):
    folder = tmp_path
    prepare(folder, **RUN)
    for line in EXAMPLES:
        shell(line, folder, **RUN)
    monkeypatch.chdir(folder)
    for name in names("method"):
        line = load("method", name).example
        before, _, training = line.rpartition("| ")  # in one process: each would import torch
        if before:
            shell(f"{before.strip(' |')} > records.jsonl", folder, **RUN)
            training += " records.jsonl"
        settings = load("method", name).__dataclass_fields__
        short = next((each for each in ("max_steps", "epochs") if each in settings), None)
        size = f" {flag(short)} 1" if short else ""
        again = " --overwrite" if Path("models", name).exists() else ""
        app(shlex.split(training + size + again)[1:] + ["-q"], standalone_mode=False)
        assert Path("models", name, "structkit.json").exists()
