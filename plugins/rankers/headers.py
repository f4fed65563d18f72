"""Demotes headers of C and C++ whose definitions are in another file."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePosixPath
from typing import ClassVar

from structkit import plugin
from structkit.ranking.folders import PutDown

HEADERS = frozenset((".h", ".hh", ".hpp", ".hxx"))
SOURCES = frozenset((".c", ".cc", ".cpp", ".cxx", ".m", ".mm"))


class Ranker(PutDown, plugin.Ranker):
    """Headers of which the hits have a source file of the same name."""

    weight: ClassVar[float] = 1.0
    words = frozenset("header headers".split())

    def put_down(self, paths: Collection[str], asked: Collection[str]) -> set[str]:
        if not self.words.isdisjoint(asked):
            return set()
        files = [(path, PurePosixPath(path)) for path in paths]
        defined = {file.stem for _, file in files if file.suffix in SOURCES}
        return {path for path, file in files if file.suffix in HEADERS and file.stem in defined}
