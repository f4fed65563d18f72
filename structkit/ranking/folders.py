"""Files that seldom answer, known by words of their path: tests, examples, copies of others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import PurePosixPath
from typing import ClassVar

import numpy as np

from structkit import plugin
from structkit.embeddings.vectors import Floats
from structkit.ranking.candidates import Candidate, Query
from structkit.ranking.names import parts


class PutDown(plugin.Ranker):
    """Demotes files of a kind, told by their paths, unless the query asks for that kind."""

    folders: ClassVar[frozenset[str]] = frozenset()
    """Names of folders, in lower case."""

    words: ClassVar[frozenset[str]] = frozenset()
    """Words that a file's name begins or ends with."""

    endings: ClassVar[tuple[str, ...]] = ()
    """Endings of file names."""

    def scores(self, query: Query, hits: Sequence[Candidate]) -> Floats:
        """-1 for each demoted hit, 0 for others."""
        down = self.put_down({hit.path for hit in hits}, parts(query.text))
        return np.array([-float(hit.path in down) for hit in hits])

    def put_down(self, paths: Collection[str], asked: Collection[str]) -> set[str]:
        """Those of the hits' paths that are demoted for a query with these words."""
        if not (self.folders | self.words).isdisjoint(asked):
            return set()
        return {path for path in paths if self.holds(path)}

    def holds(self, path: str) -> bool:
        """Whether a path is that of such a file."""
        place = PurePosixPath(path)
        name = parts(place.stem)
        return (
            not self.folders.isdisjoint(part.lower() for part in place.parts[:-1])
            or not self.words.isdisjoint((*name[:1], *name[-1:]))
            or path.endswith(self.endings)
        )
