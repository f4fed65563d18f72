"""Kinds of files, told apart by their paths: code, manuals, release notes, tests and others.

Tests: tests/searching/test_kinds.py.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from pathlib import PurePosixPath

from structkit.searching.words import name_parts


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


PATH_KINDS = {
    "test": PathKind(  # tests, specifications, mocks and benchmarks
        "test tests __tests__ testing testdata spec specs mock mocks __mocks__ fixtures bench "
        "benches benchmark benchmarks",
        "test tests spec specs mock mocks bench benchmark",
    ),
    "example": PathKind(  # examples of use
        "example examples _examples sample samples demo demos tutorial tutorials doc docs",
        "example examples sample demo",
    ),
    "copy": PathKind(  # copies of other projects, or of all files in one, and build products
        "vendor vendored _vendor third_party thirdparty 3rdparty external node_modules dist "
        "single_include amalgamated",
    ),
    "generated": PathKind(  # generated files, and mere declarations
        "generated gen autogen __generated__ __snapshots__",
        "generated prebuilt",
        (".d.ts", ".pyi", ".pb.go", "_pb2.py", ".g.cs", ".designer.cs", ".min.js", ".min.css"),
    ),
    "compatibility": PathKind(  # code kept for compatibility
        "compat _compat legacy deprecated", "compat legacy deprecated"
    ),
}
KINDS = (*PATH_KINDS, "code", "settings", "manual", "notes", "translation", "legal")
MARKUP = (".md", ".mdx", ".markdown", ".rst", ".adoc", ".rdoc", ".textile", ".org", ".pod")
PAGES = (".txt", ".html", ".htm")  # prose, but in a test or an example
SETTINGS = (
    *(".json", ".yaml", ".yml", ".toml", ".cfg", ".ini", ".xml", ".properties", ".gradle"),
    *(".cmake", ".mk", ".am", ".ac", ".in", ".m4", ".css", ".scss", ".csv", ".conf", ".env"),
)
# what programs keep for themselves: locked versions, projects of editors, pictures
KEPT = re.compile(
    r"\.(lock|sum|snap|svg|map|pbxproj|csproj|vcxproj|sln|prebuilt)$|(^|/)(package-lock\.json|pnpm-lock\.yaml)$"
)
NOTES = re.compile(
    r"(^|[-_. /])(change-?logs?|changes|history|news|releases?|release-?notes?|what-?s-?new"
    r"|upgrad(e|ing)|migrat(e|ion|ing))([-_. ][^/]*)?$|(^|/)(releases|release-?notes|what-?s-?new)/"
)
MAN = re.compile(r"\.[1-8]$")  # a page of `man`
LEGAL = re.compile(r"(licen[cs]e|copying|notice|authors|patents)")
NAMED = re.compile(r"(readme|contributing|security|install|todo|code_of_conduct|faq)\b")
TRANSLATION = re.compile(
    r"[-._/](zh|ja|ko|fr|de|es|pt|ru|it|tr|vi|uk|pl|fa|ar)([-_](\w{2,4}))?(?=[./])"
)


@lru_cache(maxsize=1 << 16)
def kind_of(path: str) -> str:
    """Return the kind of a file by its path.

    One of `KINDS`; `notes` are those of releases.

    >>> [kind_of(path) for path in ("src/pool.c", "docs/pool.md", "HISTORY.rst", "LICENSE")]
    ['code', 'manual', 'notes', 'legal']
    """
    place = path.lower()
    name = place.rpartition("/")[2]
    if KEPT.search(place):
        return "generated"
    bare = "." not in name and bool(NOTES.search(place) or LEGAL.match(name) or NAMED.match(name))
    marked = name.endswith(MARKUP) or MAN.search(name)
    if bare or marked or (name.endswith(PAGES) and not _is_part(place)):
        if NOTES.search(place):
            return "notes"
        if LEGAL.match(name):
            return "legal"
        return "translation" if TRANSLATION.search(f"/{place}") else "manual"
    for kind, paths in PATH_KINDS.items():
        if paths.holds(path):
            return kind
    return "settings" if name.endswith(SETTINGS) or "." not in name else "code"


def _is_part(path: str) -> bool:
    return any(PATH_KINDS[kind].holds(path) for kind in ("test", "copy"))
