"""Bad input, one thing at a time: a slice of `make soak`; every numeric flag beyond its ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer
from conftest import environment
from soak.commands import commands, found
from soak.sessions import sessions
from soak.spoilers.flags import BEYOND, flags

from structkit.errors import UserError

ROOT = Path(__file__).parents[2]
QUICK = (
    *("mask code", "mask products", "html pages", "pair code", "pair judged", "search bm25"),
    *("score qrels", "fuse rrf", "from beir", "from trec", "from wands", "from conllu"),
)


@pytest.mark.long
def test_a_slice_of_the_soak(tmp_path: Path) -> None:
    only = [word for name in QUICK for word in ("--only", name)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.soak", "--count", "60", "--folder", tmp_path, *only],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    assert "60 cases" in done.stdout


def test_the_soak_has_a_session_of_every_command(tmp_path):
    assert set(commands()) == {session.command for session in sessions(tmp_path)}


NUMERIC = [
    pytest.param(command, flag, id=f"{' '.join(command)} {flag.flag}")
    for command in commands()
    for flag in flags(command)
    if flag.kind in (int, float)
]
# any number will do
ENDLESS = {"--margin", "--weight"}
# more than there is means all there is
ALL = {"-k", "--k", "--depth", "--per-query", "--sample", "--rrf-k"}
# what a command asks for before it looks at a number
GIVEN = {"score": ["--qrels", "nope.jsonl"]}


@pytest.mark.parametrize(("command", "flag"), NUMERIC)
def test_numbers_beyond_both_ends_are_wrong_usage(command, flag, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = ["", "x", "nan", "inf", "-inf"]
    values += [str(end) for end in (flag.low - 1, flag.high + 1) if abs(end) < BEYOND]
    if flag.flag not in ENDLESS:
        values.append(str(-BEYOND))
    if flag.flag not in ENDLESS | ALL:
        values.append(str(BEYOND))
    statuses = {value: status(command, flag, value) for value in values}
    assert {} == {value: code for value, code in statuses.items() if code != 2}


def status(command, flag, value) -> object:
    """The exit status of the command with that flag, or its error, where no input exists."""
    required = [
        word
        for each in flags(command)
        if each.required
        for word in (each.flag, "nope/nope.svg" if command[0] == "plot" else "./nope")
    ]
    words = [*required, *GIVEN.get(command[0], []), "nope.jsonl", f"{flag.flag}={value}"]
    try:
        return found(command).main(words, standalone_mode=False)
    except UserError as error:
        return error.status if error.status == 2 else str(error)
    except typer.BadParameter.__mro__[1] as error:
        return error.exit_code
