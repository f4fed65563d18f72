"""Demotes tests, examples, copies and generated files, unless the query asks for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import ClassVar

import numpy as np

from structkit import plugin
from structkit.embeddings.vectors import Floats
from structkit.ranking.reranking import Candidate, Query
from structkit.searching.kinds import PATH_KINDS
from structkit.searching.words import name_parts


class Ranker(plugin.Ranker):
    """Files of kinds that rarely answer, recognized by their paths; each kind demotes once."""

    weight: ClassVar[float] = 1.0

    def scores(self, query: Query, hits: Sequence[Candidate]) -> Floats:
        """Return -1 for each reason to demote a hit, 0 without one."""
        paths, asked = {hit.path for hit in hits}, name_parts(query.text)
        kinds = (
            filter(kind.holds, paths) for kind in PATH_KINDS.values() if not kind.is_asked(asked)
        )
        reasons = Counter(chain(*kinds))
        return np.array([-float(reasons[hit.path]) for hit in hits])
