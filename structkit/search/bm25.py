"""BM25: the lexical baseline beside every dense number."""

from __future__ import annotations

from collections.abc import Iterable

import bm25s
import numpy as np

from structkit.errors import UserError
from structkit.search.index import best, places
from structkit.search.words import words


class BM25:
    """Documents ready for BM25 as Lucene computes it (Robertson et al. 1994; Kamphuis et al. 2020).

    `k1` and `b` default to those of bm25s. Texts are read once and not kept. A corpus without
    any word raises.
    """

    def __init__(
        self,
        doc_ids: list[str],
        texts: Iterable[str],
        *,
        k1: float = 1.5,
        b: float = 0.75,
        stopwords: bool = True,
    ) -> None:
        if k1 < 0 or not 0 <= b <= 1:
            raise UserError(
                f"--k1 {k1} --b {b} are out of range", "k1 >= 0 and 0 <= b <= 1", status=2
            )
        self.vocabulary: dict[str, int] = {}
        self.stopwords = stopwords
        number = self.vocabulary
        tokens = [
            [number.setdefault(word, len(number)) for word in words(text, stopwords)]
            for text in texts
        ]
        if not number:
            raise UserError("the corpus holds no words", "name the field of its text")
        self.doc_ids = doc_ids
        self.place = places(doc_ids)
        self.index = bm25s.BM25(method="lucene", k1=k1, b=b)
        self.index.index((tokens, dict(number)), show_progress=False)

    def search(self, query: str, k: int) -> list[tuple[str, float]]:
        """The k best documents that share a word with the query, with their scores, best first."""
        tokens = [
            self.vocabulary[word]
            for word in words(query, self.stopwords)
            if word in self.vocabulary
        ]
        scores = self.index.get_scores_from_ids(tokens).astype(np.float32)  # (documents,)
        matched = np.flatnonzero(scores > 0)
        ranked = matched[best(scores[matched], self.place[matched], k)]
        return [(self.doc_ids[document], float(scores[document])) for document in ranked]
