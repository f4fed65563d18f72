"""A name that is nearly right: commands, flags, values of flags, plugins, fields, measures."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from structkit.cli.main import _run

# what was typed, and what was meant
TYPOS = {
    "serch in.jsonl": "'search'",
    "train sntaa in.jsonl": "'santa'",
    "search in.jsonl --mehtod bm25": "--method",
    "train santa --temperatur 1": "--temperature",
    "mask-entities in.jsonl --language Pyton": "'python'",
    "convert in.jsonl --from bier": "'beir'",
    "rerank in.jsonl --corpus in.jsonl --queries in.jsonl --ranker path-word": "'path-words'",
    "mask-entities in.jsonl --field cde": "'code'",
    "pair in.jsonl --query docstrin --positive code": "'docstring'",
    "select in.jsonl --where languag=go": "'language'",
    "score in.jsonl --qrels self --measures nDGC@10": "'nDCG'",
    "score in.jsonl --qrels in.jsonl --gains esci-documentd": "'esci-documented'",
}


@pytest.fixture
def told(tmp_path, monkeypatch, capsys):
    """What the program says of a command line, in this process, and its status."""
    shutil.copy("fixtures/code/test.jsonl", tmp_path / "in.jsonl")
    monkeypatch.chdir(tmp_path)

    def told(line):
        monkeypatch.setattr(sys, "argv", ["structkit", *line.split()])
        return _run(), capsys.readouterr().err

    return told


@pytest.mark.parametrize("line", TYPOS)
def test_the_name_that_was_meant_is_told(line, told):
    status, message = told(line)
    assert f"did you mean {TYPOS[line]}? " in message
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
