"""Every --help, as a golden: fixtures/help/COMMAND.txt; the manual pages too, in man/."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment

from structkit.cli.main import app
from structkit.cli.manual import pages
from structkit.registry import names
from structkit.settings import COMMANDS

PLOTS = ["embeddings", "ranks", "losses", "trees"]
PAGES = [
    *([name] for name in COMMANDS),
    ["structkit"],
    *(["plot", name] for name in PLOTS),
    *(["train", name] for name in names("method")),
]


@pytest.mark.parametrize("page", PAGES, ids="-".join)
def test_help(page, golden):
    names = [] if page == ["structkit"] else page
    command = [sys.executable, "tests/cli/alone.py", *names, "--help"]
    done = subprocess.run(command, capture_output=True, env=environment())
    assert (0, b"") == (done.returncode, done.stderr)
    golden(Path(f"fixtures/help/{'-'.join(page)}.txt"), done.stdout.decode())


MANUAL = dict(pages())


@pytest.mark.parametrize("name", MANUAL)
def test_manual_page(name, golden):
    golden(Path(f"man/{name}.1"), MANUAL[name])


def test_no_manual_page_is_left_of_what_is_gone():
    assert {f"{name}.1" for name in MANUAL} == {path.name for path in Path("man").iterdir()}


def leaves(group, before=""):
    """Every command by its name, `plot embeddings` for those of groups; one method for all."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if name == "train":
            yield name, command.get_command(None, "santa")
        elif hasattr(command, "list_commands"):
            yield from leaves(command, f"{name} ")
        else:
            yield before + name, command


def test_the_table_of_common_flags_is_exact():
    every = dict(leaves(app))
    flags = {
        name: {flag for each in command.params for flag in each.opts}
        for name, command in every.items()
    }
    rows = re.findall(
        r"^\| (`-.*?) \| [^|]* \| (.*) \|$", Path("docs/guide/pipes.md").read_text("utf-8"), re.M
    )
    assert len(rows) == 6
    for shown, commands in rows:
        told = set(every) if commands == "all" else set(re.findall("`(.*?)`", commands))
        for flag in re.findall(r"`(-\S+?)[ `]", shown):
            assert {name for name in every if flag in flags[name]} == told, flag
