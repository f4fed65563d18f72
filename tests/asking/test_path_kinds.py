"""Kinds of files by their paths, as people name them."""

from pathlib import Path

import pytest

from structkit.asking.path_kinds import KINDS, path_kind

LINES = Path(__file__).with_name("path_kinds.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("line", LINES)
def test_a_path_tells_the_kind(line):
    kind, paths = line.split(":")
    assert dict.fromkeys(paths.split(), kind) == {path: path_kind(path) for path in paths.split()}
    assert kind in KINDS
