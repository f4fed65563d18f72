"""Words of the query in the names that a hit defines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from structkit import plugin
from structkit.embeddings.vectors import Floats
from structkit.ranking.reranking import Candidate, Query
from structkit.searching.words import SEPARATOR, alike, name_parts, query_parts


class Ranker(plugin.Ranker):
    """A hit's best name: its share of the query's words, and the query's share of its words."""

    weight: ClassVar[float] = 0.5

    def scores(self, query: Query, hits: Sequence[Candidate]) -> Floats:
        """0 … 1 for each hit."""
        wanted = query_parts(query.text)
        return np.array(
            [max((shared_words(wanted, name) for name in hit.names), default=0.0) for hit in hits]
        )


def shared_words(wanted: Sequence[str], name: str) -> float:
    """The geometric mean of two shares: of the query in the name, and of the name in the query.

    >>> shared_words(["open", "a", "retry", "pool"], "Client.openPools")
    0.7071067811865476
    """
    own = name_parts(SEPARATOR.split(name)[-1])
    if not wanted or not own:
        return 0.0
    here = sum(any(alike(word, other) for other in own) for word in wanted)
    there = sum(any(alike(word, other) for word in wanted) for other in own)
    return float((here / len(wanted) * there / len(own)) ** 0.5)
