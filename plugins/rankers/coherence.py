"""Several hits in the same file support each other: the best one is promoted."""

from collections.abc import Sequence

from structkit import plugin
from structkit.ranking.reranking import Candidate, Query


class Ranker(plugin.Ranker):
    """The sum of a file's scores, given to its best hit."""

    weight = 0.5

    def scores(self, query: Query, hits: Sequence[Candidate]) -> list[float]:
        """Return 0 … 1 for the best hit of each file, relative to the best file; else 0."""
        sums: dict[str, float] = {}
        best: dict[str, int] = {}
        for number, hit in enumerate(hits):
            sums[hit.file] = sums.get(hit.file, 0.0) + hit.score
            if hit.score > hits[best.setdefault(hit.file, number)].score:
                best[hit.file] = number
        scores = [0.0] * len(hits)
        most = max(sums.values(), default=0.0)
        for file, number in best.items():
            scores[number] = sums[file] / most if most else 0.0
        return scores
