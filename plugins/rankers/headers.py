"""Demotes headers of C and C++ whose definitions are in another file."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePosixPath

from structkit.ranking.demotion import Demotion

HEADERS = frozenset((".h", ".hh", ".hpp", ".hxx"))
ASKED = frozenset(("header", "headers"))
SOURCES = frozenset((".c", ".cc", ".cpp", ".cxx", ".m", ".mm"))


class Ranker(Demotion):
    """Headers of which the hits have a source file of the same name."""

    def demoted(self, paths: Collection[str], asked: Collection[str]) -> set[str]:
        if not ASKED.isdisjoint(asked):
            return set()
        files = [(path, PurePosixPath(path)) for path in paths]
        defined = {file.stem for _, file in files if file.suffix in SOURCES}
        return {path for path, file in files if file.suffix in HEADERS and file.stem in defined}
