"""Demotes tests, examples, copies and generated files, unless the query asks for them."""

from collections.abc import Sequence

from structkit import plugin
from structkit.asking.path_kinds import asked_kinds, rare_kinds
from structkit.ranking.reranking import Candidate, Query


class Ranker(plugin.Ranker):
    """Files of kinds that rarely answer, recognized by their paths; each kind demotes once."""

    weight = 1.0

    def scores(self, query: Query, hits: Sequence[Candidate]) -> list[float]:
        """Return -1 for each reason to demote a hit, 0 without one."""
        asked = asked_kinds(query.text)
        return [-float(len({*rare_kinds(hit.path)} - asked)) for hit in hits]
