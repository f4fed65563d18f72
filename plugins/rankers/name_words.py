"""Words of the query in the names that a hit defines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from structkit import plugin
from structkit.embeddings.vectors import Floats
from structkit.ranking.reranking import Candidate, Query
from structkit.searching.words import query_parts, shared_words


class Ranker(plugin.Ranker):
    """A hit's best name: its share of the query's words, and the query's share of its words."""

    weight: ClassVar[float] = 0.5

    def scores(self, query: Query, hits: Sequence[Candidate]) -> Floats:
        """Return 0 … 1 for each hit."""
        words = query_parts(query.text)
        return np.array(
            [max((shared_words(words, name) for name in hit.names), default=0.0) for hit in hits]
        )
