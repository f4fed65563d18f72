"""Demotes files of which a better variant is among the hits: older, declared, or of Windows."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import chain
from posixpath import splitext

from structkit import plugin
from structkit.asking.path_kinds import folders_and_name
from structkit.ranking.reranking import Candidate, Query
from structkit.searching.words import name_parts

HEADERS = frozenset((".h", ".hh", ".hpp", ".hxx"))
SOURCES = frozenset((".c", ".cc", ".cpp", ".cxx", ".m", ".mm"))
WINDOWS = frozenset("win win32 win64 windows".split())
VERSION = re.compile(r"(?:^|/)v(\d{1,4})(?=/)", re.IGNORECASE)  # a folder


class Ranker(plugin.Ranker):
    """Variants of files: older versions, headers beside their source, files for Windows alone."""

    weight = 1.0

    def scores(self, query: Query, hits: Sequence[Candidate]) -> list[float]:
        """Return -1 for each reason to demote a hit, 0 without one."""
        paths, asked = {hit.path for hit in hits}, name_parts(query.text)
        older, headers = older_versions(paths, asked), headers_of_sources(paths, asked)
        reasons = Counter(chain(older, headers, windows_variants(paths, asked)))
        return [-float(reasons[hit.path]) for hit in hits]


def headers_of_sources(paths: Collection[str], asked: Collection[str]) -> set[str]:
    """Return headers of C and C++ whose source file of the same name is among the paths."""
    if not {"header", "headers"}.isdisjoint(asked):
        return set()
    files = [(path, *splitext(path.rpartition("/")[2])) for path in paths]
    defined = {stem for _, stem, suffix in files if suffix in SOURCES}
    return {path for path, stem, suffix in files if suffix in HEADERS and stem in defined}


def windows_variants(paths: Collection[str], asked: Collection[str]) -> set[str]:
    """Return files for Windows of which another folder has one of the same name.

    >>> windows_variants(["src/unix/tty.c", "src/win/tty.c", "src/win/winapi.c"], [])
    {'src/win/tty.c'}
    """
    if not WINDOWS.isdisjoint(asked):
        return set()
    inside = {path for path in paths if not WINDOWS.isdisjoint(folders_and_name(path)[0])}
    name = {path: path.lower().rpartition("/")[2] for path in paths}
    others = {name[path] for path in paths if path not in inside}
    return {path for path in inside if name[path] in others}


def older_versions(paths: Collection[str], asked: Collection[str]) -> set[str]:
    """Return files in folders like v1 beside a v2, unless the query names v1."""
    newest: dict[str, int] = {}
    for path in paths:
        for folder, number in versions(path):
            newest[folder] = max(number, newest.get(folder, 0))
    return {
        path
        for path in paths
        for folder, number in versions(path)
        if number < newest[folder] and f"v{number}" not in asked
    }


@lru_cache(maxsize=1 << 16)
def versions(path: str) -> tuple[tuple[str, int], ...]:
    """Return the folders of a path that hold versions, and the version of each.

    >>> versions("api/v2/pool/v1.py")
    (('api', 2),)
    """
    return tuple((path[: each.start()], int(each[1])) for each in VERSION.finditer(path))
