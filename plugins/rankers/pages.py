"""Words of the query in a hit, in its page and in the best other hits of that."""

from collections.abc import Sequence

import numpy as np

from structkit import plugin
from structkit.embeddings.vectors import Floats
from structkit.ranking.reranking import Candidate, Query
from structkit.records.fields import DOCUMENT_FIELDS
from structkit.searching.bm25 import Postings, WordIndex, page_scores
from structkit.searching.words import question_words
from structkit.structure.bags import Bags


class Ranker(plugin.Ranker):
    """Mean BM25 of a page, of its hit, and of its three best hits.

    A page is all of its hits; a word counts more if fewer of these pages have it. Words with the
    same stem are equal.
    """

    weight = 3.0

    def scores(self, query: Query, hits: Sequence[Candidate]) -> Floats:
        """Return 0 … 1 for each hit."""
        fields = ([hit.record.get(name) for name in ("title", *DOCUMENT_FIELDS)] for hit in hits)
        texts = (" ".join(each for each in some if isinstance(each, str)) for some in fields)
        index = WordIndex([(Postings.of_bags(Bags.of(texts)), np.arange(len(hits)))])
        _, pages = np.unique([hit.file for hit in hits], return_inverse=True)
        counted = index.counts_of(question_words(query.text))
        found, _ = page_scores(counted, index.lengths, pages)
        return found
