"""A name that is nearly right: commands, flags, values of flags, plugins, fields, measures."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from structkit.cli.main import _run

# what was meant, and what was typed
TYPOS = Path(__file__).with_name("typos.txt").read_text("utf-8").splitlines()


@pytest.fixture
def told(tmp_path, monkeypatch, capsys):
    """What the program says of a command line, in this process, and its status."""
    shutil.copy("fixtures/code/test.jsonl", tmp_path / "in.jsonl")
    monkeypatch.chdir(tmp_path)

    def told(line):
        monkeypatch.setattr(sys, "argv", ["structkit", *line.split()])
        return _run(), capsys.readouterr().err

    return told


@pytest.mark.parametrize("typo", TYPOS)
def test_the_name_that_was_meant_is_told(typo, told):
    meant, line = map(str.strip, typo.split(":"))
    status, message = told(line)
    assert f"did you mean {meant}? " in message
    assert 1 == message.count("\n")
    assert bool(status) != line.startswith("select")  # which goes on


@pytest.mark.parametrize("line", ["xyzzy", "search --xyzzy 1", "pair in.jsonl --query xyzzy"])
def test_nothing_is_guessed_where_no_name_is_similar(line, told):
    status, message = told(line)
    assert (1 if "pair" in line else 2) == status
    assert "did you mean" not in message


def test_the_meant_name_works(told):
    """The remedy helps as printed."""
    line = "select in.jsonl --fields idd -o out.jsonl"
    meant = re.search("did you mean '(.*?)'", told(line)[1])[1]
    assert (0, "") == told(line.replace("idd", meant))
    assert Path("out.jsonl").stat().st_size
