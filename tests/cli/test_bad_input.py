"""Bad input, one thing at a time: a slice of `make soak`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment
from soak.sessions import commands, sessions

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


@pytest.mark.long
def test_the_soak_has_a_session_of_every_command(tmp_path):
    assert set(commands()) == {session.command for session in sessions(tmp_path)}
