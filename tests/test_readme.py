"""What the README shows is what happens: its sessions are run, `…` stands for anything."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documents import PROGRAM, commands, run_session
from terminals import shown

README = Path("README.md").read_text("utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
SCORE = re.compile(r"\d+\.\d{3}$", re.MULTILINE)
AT_TERMINAL = re.findall(r"```console terminal\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.partition("\n")[0][:40])
def test_session(block, tmp_path):
    shutil.copytree("fixtures", tmp_path / "fixtures")
    run_session(block, tmp_path)


@pytest.mark.parametrize("block", AT_TERMINAL, ids=lambda block: block.partition("\n")[0][:40])
def test_session_at_a_terminal(block, tmp_path):
    shutil.copytree("fixtures", tmp_path / "fixtures")
    places = {"XDG_CACHE_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "TERM": "dumb"}
    for command, expected in commands(block):
        bash = ["bash", "-c", PROGRAM + command]
        seen = shown(tmp_path, bash, PYTHON=sys.executable, **places)
        # scores follow the weights of rankers, which are fitted again and again
        assert SCORE.sub("…", expected) == SCORE.sub("…", seen)


def test_there_are_sessions():
    assert len(BLOCKS) >= 2
    assert AT_TERMINAL


def test_make_targets_of_the_readme_exist():
    files = [Path("Makefile"), *Path("recipes").glob("*.mk")]
    targets = re.findall(r"^([a-z-]+):", "\n".join(map(Path.read_text, files)), re.MULTILINE)
    text = Path("README.md").read_text("utf-8")
    mentioned = re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE)
    assert {"demo", "test"} <= set(mentioned) <= set(targets)
    listed = subprocess.run(["make", "help"], capture_output=True, text=True, check=True).stdout
    assert set(mentioned) <= {line.split()[0] for line in listed.splitlines()}
    assert os.access(".ci/run", os.X_OK)
