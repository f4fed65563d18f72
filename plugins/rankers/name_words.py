"""Words of the query in the names that a hit defines, or in its heading."""

from collections.abc import Sequence

from structkit import plugin
from structkit.ranking.reranking import Candidate, Query
from structkit.searching.words import query_parts, shared_words

HEADING = 0.5  # the value of a heading; with 1, prose comes before the code that is asked for


class Ranker(plugin.Ranker):
    """A hit's best name: its share of the query's words, and the query's share of its words.

    A hit without names has its heading, at half the value.
    """

    weight = 0.5

    def scores(self, query: Query, hits: Sequence[Candidate]) -> list[float]:
        """Return 0 … 1 for each hit."""
        words = query_parts(query.text)

        def best(hit: Candidate) -> float:
            if names := hit.names:
                return max(shared_words(words, name) for name in names)
            headings = hit.record.get("headings")
            return HEADING * shared_words(words, str(headings[-1])) if headings else 0.0

        return [best(hit) for hit in hits]
