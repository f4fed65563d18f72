"""The words of the query that stand in the path, in the file's name above all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import ClassVar

import numpy as np

from structkit import plugin
from structkit.embeddings.vectors import Floats
from structkit.ranking.candidates import Candidate, Query
from structkit.ranking.names import alike, asked, parts


class Ranker(plugin.Ranker):
    """The share of the query's words, or of the file name's if they are fewer, that are in both."""

    weight: ClassVar[float] = 0.5

    def scores(self, query: Query, hits: Sequence[Candidate]) -> Floats:
        """0 … 1 for each hit; folders count half."""
        wanted = asked(query.text)
        known: dict[str, float] = {}
        for hit in hits:
            path = str(hit.record.get("path", ""))
            if path not in known:
                known[path] = matched(wanted, path)
        return np.array([known[str(hit.record.get("path", ""))] for hit in hits])


def matched(wanted: Sequence[str], path: str) -> float:
    """How much of the wanted words a path has.

    >>> matched(["session", "cookies"], "src/sessions.py")
    1.0
    """
    place = PurePosixPath(path)
    name = parts(place.stem)
    folders = parts(str(place.parent))
    if not wanted or not name:
        return 0.0
    of_name = sum(any(alike(word, other) for word in wanted) for other in name)
    of_folders = any(alike(word, other) for word in wanted for other in folders)
    return max(of_name / len(name), of_folders / 2)
