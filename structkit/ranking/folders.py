"""Files that seldom answer, known by words of their path: tests, examples, copies of others."""

from __future__ import annotations

from collections.abc import Sequence
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
        if (self.folders | self.words).intersection(parts(query.text)):
            return np.zeros(len(hits))
        return np.array([-float(self.holds(hit.path)) for hit in hits])

    def holds(self, path: str) -> bool:
        """Whether a path is that of such a file."""
        place = PurePosixPath(path)
        name = parts(place.stem)
        return (
            not self.folders.isdisjoint(part.lower() for part in place.parts[:-1])
            or not self.words.isdisjoint((*name[:1], *name[-1:]))
            or path.endswith(self.endings)
        )
