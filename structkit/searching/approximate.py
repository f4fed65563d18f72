"""An index of rows that answers with documents: for backends that do not look at all rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structkit.embeddings.reading import Embeddings
from structkit.embeddings.vectors import Numbers, Vectors, unit
from structkit.errors import UserError
from structkit.scoring.runs import Hit
from structkit.searching.hits import row_record
from structkit.searching.options import SearchOptions

BATCH = 256
RESCORED = {"ivf": 10, "int8": 4, "binary": 20}  # so many times k rows, by their vectors


class Approximate:
    """An index of rows; a document of several rows has the score of the best one found.

    `index.search(queries, rows)` is as faiss has it: scores and numbers of the best rows, best
    first, number -1 where it found fewer.
    """

    def __init__(self, index: Any, corpus: Embeddings, options: SearchOptions) -> None:
        self.index, self.corpus, self.options = index, corpus, options
        self.dimensions, self.model = corpus.dimensions, corpus.model
        self.documents = len(set(corpus.doc_ids))

    def batch(self, k: int) -> int:
        return BATCH

    def search(self, queries: Vectors, k: int) -> list[list[Hit]]:
        if self.options.cosine:
            queries = unit(queries)
        documents, every = self.documents, len(self.corpus.doc_ids)
        k = min(k, documents)
        # as many rows as k documents have on average, and more while that is too few
        rows = k * math.ceil(every / documents)
        while True:
            rows = min(rows, every)
            hits = self._hits(queries, rows, k)
            if rows == every or all(len(ranked) == k for ranked in hits):
                break
            if rows == k and documents == every:
                break  # one row per document: the index itself finds no more
            rows *= 2
        return hits

    def _hits(self, queries: Vectors, rows: int, k: int) -> list[list[Hit]]:
        """The k best documents among the rows that the index finds for each query."""
        scores, numbers = self.index.search(np.ascontiguousarray(queries), rows)  # best first
        if not np.isfinite(scores[numbers >= 0]).all():
            raise UserError(
                "the index or a query holds NaN or infinity", "build and encode it again"
            )
        counts = (numbers >= 0).sum(1).tolist()
        return [
            self._ranked(score[:count], row[:count], k)
            for score, row, count in zip(scores, numbers, counts, strict=True)
        ]

    def _ranked(self, scores: Vectors, rows: Numbers, k: int) -> list[Hit]:
        """The k best documents of some rows, best first; equal scores by descending id."""
        doc_ids = self.corpus.doc_ids
        best: dict[str, tuple[float, int]] = {}  # score and row of each document
        for score, row in zip(scores.tolist(), rows.tolist(), strict=True):
            best.setdefault(doc_ids[row], (score, row))
        ranked = sorted(best, key=lambda doc_id: (best[doc_id][0], doc_id), reverse=True)
        return [self._hit(*best[doc_id]) for doc_id in ranked[:k]]

    def _hit(self, score: float, row: int) -> Hit:
        shown = row_record(self.corpus, row) if self.options.explain else None
        return Hit(self.corpus.doc_ids[row], score, shown)

    def close(self) -> None:
        pass
