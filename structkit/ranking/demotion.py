"""Files that seldom answer, told by their paths: those that a ranker demotes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from structkit.embeddings.vectors import Floats
from structkit.ranking.candidates import Candidate, Query, Ranker
from structkit.ranking.names import parts


class Demotion(Ranker):
    """Demotes files by their paths, unless the query asks for them."""

    weight = 1.0

    def scores(self, query: Query, hits: Sequence[Candidate]) -> Floats:
        """-1 for each reason to demote a hit, 0 without one."""
        reasons = Counter(self.demoted({hit.path for hit in hits}, parts(query.text)))
        return np.array([-float(reasons[hit.path]) for hit in hits])

    def demoted(self, paths: Collection[str], asked: Collection[str]) -> Iterable[str]:
        """Those of the hits' paths that a query with these words demotes, once for each reason."""
        raise NotImplementedError
