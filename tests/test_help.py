"""Every --help, as a golden: fixtures/help/COMMAND.txt."""

from pathlib import Path

import pytest

from structkit.cli import app

COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]


@pytest.mark.parametrize("name", [*COMMANDS, "train", "structkit"])
def test_help(name, run, golden):
    name = name.replace("_", "-")
    done = run(*([] if name == "structkit" else [name]), "--help")
    assert (0, b"") == (done.returncode, done.stderr)
    golden(Path(f"fixtures/help/{name}.txt"), done.stdout.decode())


@pytest.mark.parametrize("method", ["contrastive", "santa"])
def test_help_of_a_method(method, run, golden):
    done = run("train", method, "--help")
    assert (0, b"") == (done.returncode, done.stderr)
    golden(Path(f"fixtures/help/train-{method}.txt"), done.stdout.decode())
