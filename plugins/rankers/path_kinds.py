"""Demotes tests, examples, copies, generated and compatibility files, unless they are asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Self

from structkit.ranking.demotion import Demotion
from structkit.ranking.names import parts


@dataclass(frozen=True)
class Kind:
    """Files told by the names of their folders, by words of their own, or by endings."""

    folders: frozenset[str]
    words: frozenset[str] = frozenset()  # that the name begins or ends with
    endings: tuple[str, ...] = ()

    @classmethod
    def of(cls, folders: str, words: str = "", endings: tuple[str, ...] = ()) -> Self:
        """A kind of names in lower case, separated by blanks."""
        return cls(frozenset(folders.split()), frozenset(words.split()), endings)

    def is_asked(self, asked: Collection[str]) -> bool:
        """Whether a query with these words asks for such files."""
        return not (self.folders | self.words).isdisjoint(asked)

    def holds(self, path: str) -> bool:
        """Whether a path is that of such a file."""
        place = PurePosixPath(path)
        name = parts(place.stem)
        return (
            not self.folders.isdisjoint(part.lower() for part in place.parts[:-1])
            or not self.words.isdisjoint((*name[:1], *name[-1:]))
            or path.endswith(self.endings)
        )


KINDS = (
    Kind.of(  # tests, specifications, mocks and benchmarks
        "test tests __tests__ testing testdata spec specs mock mocks __mocks__ fixtures bench "
        "benches benchmark benchmarks",
        "test tests spec specs mock mocks bench benchmark",
    ),
    Kind.of(  # what shows how something is used
        "example examples _examples sample samples demo demos tutorial tutorials doc docs",
        "example examples sample demo",
    ),
    # copies of other projects, and build products
    Kind.of("vendor vendored _vendor third_party thirdparty 3rdparty external node_modules dist"),
    Kind.of(  # what a tool wrote, and nothing but declarations
        "generated gen autogen __generated__",
        "generated",
        (".d.ts", ".pyi", ".pb.go", "_pb2.py", ".g.cs", ".designer.cs", ".min.js"),
    ),
    # what is kept for compatibility
    Kind.of("compat _compat legacy deprecated", "compat legacy deprecated"),
)


class Ranker(Demotion):
    """Files of kinds that seldom answer; of several kinds, once for each."""

    def demoted(self, paths: Collection[str], asked: Collection[str]) -> Iterator[str]:
        for kind in KINDS:
            if not kind.is_asked(asked):
                yield from filter(kind.holds, paths)
