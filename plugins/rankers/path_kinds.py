"""Demotes tests, examples, copies, generated and older files, unless they are asked for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import PurePosixPath
from posixpath import splitext
from typing import ClassVar

import numpy as np

from structkit import plugin
from structkit.embeddings.vectors import Floats
from structkit.ranking.reranking import Candidate, Query
from structkit.searching.words import name_parts

HEADERS = frozenset((".h", ".hh", ".hpp", ".hxx"))
SOURCES = frozenset((".c", ".cc", ".cpp", ".cxx", ".m", ".mm"))
WINDOWS = frozenset("win win32 win64 windows".split())
VERSION = re.compile(r"v(\d{1,4})", re.IGNORECASE)


class PathKind:
    """Kind of files, recognized by names of folders, by words of their names, or by endings."""

    def __init__(self, folders: str, words: str = "", endings: tuple[str, ...] = ()) -> None:
        """Take names in lower case, separated by spaces; `words` begin or end a file's name."""
        self.folders, self.words = frozenset(folders.split()), frozenset(words.split())
        self.endings = endings

    def is_asked(self, asked: Collection[str]) -> bool:
        """Return whether a query with these words asks for such files."""
        return not (self.folders | self.words).isdisjoint(asked)

    def holds(self, path: str) -> bool:
        """Return whether a path belongs to such a file."""
        folders, words = folders_and_words(path)
        return (
            not self.folders.isdisjoint(folders)
            or not self.words.isdisjoint(words)
            or path.endswith(self.endings)
        )


@lru_cache(maxsize=1 << 16)
def folders_and_words(path: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the folders of a path, in lower case, and the first and last word of its name.

    >>> [sorted(each) for each in folders_and_words("src/Tests/http_client_test.py")]
    [['src', 'tests'], ['http', 'test']]
    """
    place = PurePosixPath(path)
    name = name_parts(place.stem)
    folders = frozenset(part.lower() for part in place.parts[:-1])
    return folders, frozenset((*name[:1], *name[-1:]))


KINDS = (
    PathKind(  # tests, specifications, mocks and benchmarks
        "test tests __tests__ testing testdata spec specs mock mocks __mocks__ fixtures bench "
        "benches benchmark benchmarks",
        "test tests spec specs mock mocks bench benchmark",
    ),
    PathKind(  # examples of use
        "example examples _examples sample samples demo demos tutorial tutorials doc docs",
        "example examples sample demo",
    ),
    # copies of other projects, and build products
    PathKind("vendor vendored _vendor third_party thirdparty 3rdparty external node_modules dist"),
    PathKind(  # generated files, and mere declarations
        "generated gen autogen __generated__",
        "generated",
        (".d.ts", ".pyi", ".pb.go", "_pb2.py", ".g.cs", ".designer.cs", ".min.js"),
    ),
    # code kept for compatibility
    PathKind("compat _compat legacy deprecated", "compat legacy deprecated"),
)


class Ranker(plugin.Ranker):
    """Files of kinds that rarely answer, recognized by their paths; each kind demotes once."""

    weight: ClassVar[float] = 1.0

    def scores(self, query: Query, hits: Sequence[Candidate]) -> Floats:
        """Return -1 for each reason to demote a hit, 0 without one."""
        paths, asked = {hit.path for hit in hits}, name_parts(query.text)
        kinds = (filter(kind.holds, paths) for kind in KINDS if not kind.is_asked(asked))
        older, headers = older_versions(paths, asked), headers_of_sources(paths, asked)
        reasons = Counter(chain(*kinds, older, headers, windows_variants(paths, asked)))
        return np.array([-float(reasons[hit.path]) for hit in hits])


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
    inside = {path for path in paths if not WINDOWS.isdisjoint(folders_and_words(path)[0])}
    name = {path: path.lower().rpartition("/")[2] for path in paths}
    others = {name[path] for path in paths if path not in inside}
    return {path for path in inside if name[path] in others}


def older_versions(paths: Collection[str], asked: Collection[str]) -> set[str]:
    """Return files in folders like v1 beside a v2, unless the query names v1."""
    newest: dict[PurePosixPath, int] = {}
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
def versions(path: str) -> tuple[tuple[PurePosixPath, int], ...]:
    """Return the folders of a path that hold versions, and the version of each.

    >>> [(str(folder), number) for folder, number in versions("api/v2/pool/v1.py")]
    [('api', 2)]
    """
    return tuple(
        (folder.parent, int(version[1]))
        for folder in PurePosixPath(path).parents
        if (version := VERSION.fullmatch(folder.name))
    )
