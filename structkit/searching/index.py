"""Exact search: the best documents by a similarity, without the whole score matrix in memory.

The similarity is the inner product, or another of `PAIRWISE`; cosine is the inner product of rows
of length 1.

Equal scores are ordered by descending document id everywhere in structkit, because trec_eval reads
a run so.

A fast float32 product finds the candidates for the best documents; a float64 product decides
between them. BLAS rounds by the shape of its operands, so that equal documents get unequal float32
scores at different places of a matrix; the final score does not depend on place, block or machine.
Source of the error bound: Higham, Accuracy and Stability of Numerical Algorithms, 3.1.

Tests: tests/commands/test_search.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from structkit.embeddings.reading import Embeddings
from structkit.embeddings.vectors import (
    BLOCK,
    Floats,
    Matrix,
    Numbers,
    UnitRows,
    Vectors,
    are_unit,
    unit,
)

# similarities of pairs of rows, (rows, dimensions) each, in float64
PAIRWISE: dict[str, Callable[[Floats, Floats], Floats]] = {
    "dot": lambda queries, rows: np.einsum("rd,rd->r", queries, rows),
    "euclidean": lambda queries, rows: -np.linalg.norm(queries - rows, axis=1),
    "manhattan": lambda queries, rows: -np.abs(queries - rows).sum(axis=1),
}
DISTANCES = {"euclidean": "euclidean", "manhattan": "cityblock"}  # as scipy has them
PAIRS = 256  # pairs that are scored in float64 together: they stay in the cache


def places(doc_ids: Sequence[str]) -> Numbers:
    """Return the place of each document among equal scores: 0 for the last id in string order.

    >>> places(["b", "a", "c"]).tolist()
    [1, 2, 0]
    """
    order = sorted(range(len(doc_ids)), key=doc_ids.__getitem__, reverse=True)
    place_of = np.empty(len(order), np.int64)
    place_of[order] = np.arange(len(order))
    return place_of


def best(scores: Vectors, place: Numbers, k: int) -> Numbers:
    """Return the numbers of the k best of some documents, best first; equal scores go by place.

    >>> best(np.array([1, 2, 1, 1], np.float32), places(["a", "b", "c", "d"]), 2).tolist()
    [1, 3]
    """
    candidates = np.arange(len(scores))
    if k < len(scores):
        bar = np.partition(scores, len(scores) - k)[len(scores) - k]
        candidates = np.flatnonzero(scores >= bar)  # all that tie at the boundary
    return candidates[np.lexsort((place[candidates], -scores[candidates]))][:k]


def number_documents(doc_ids: Sequence[str]) -> tuple[list[str], Numbers]:
    """Return the documents by first row, and each row's document number, (rows,).

    >>> number_documents(["b", "a", "b"])
    (['b', 'a'], array([0, 1, 0]))
    """
    numbers: dict[str, int] = {}
    rows = [numbers.setdefault(doc_id, len(numbers)) for doc_id in doc_ids]
    return list(numbers), np.array(rows, np.int64)


def compare(queries: Vectors, rows: Vectors, similarity: str) -> Vectors:
    """Return the scores of queries and rows, (queries, rows), in float32.

    >>> compare(np.array([[0, 2]], np.float32), np.array([[0, 3], [1, 0]], np.float32), "cosine")
    array([[1., 0.]], dtype=float32)
    """
    if similarity == "cosine":
        queries, rows = unit(queries), unit(rows)
    if similarity not in DISTANCES:
        return queries @ rows.T
    from scipy.spatial.distance import cdist  # only for distances: it takes 0.2 s

    distances: Floats = cdist(queries, rows, DISTANCES[similarity])
    return (-distances).astype(np.float32)


class Index:
    """Documents ready for exact search; a document of several chunks has its best one's score."""

    def __init__(self, corpus: Embeddings, similarity: str = "dot", block: int = BLOCK) -> None:
        rows, self.similarity, self.block = corpus.vectors, similarity, block
        self.largest_norm = corpus.largest_norm
        if similarity == "cosine":
            self.similarity = "dot"
            if not are_unit(rows, 1e-6):
                rows, self.largest_norm = Matrix([UnitRows(rows)]), 1.0
        self.pairwise = PAIRWISE[self.similarity]
        self.doc_ids, document = number_documents(corpus.doc_ids)
        self.place = places(self.doc_ids)
        self.rows = np.argsort(document, kind="stable")  # (rows,), rows of a document together
        self.vectors = rows.take(self.rows)  # (rows, dimensions)
        counts = np.bincount(document, minlength=len(self.doc_ids))
        self.starts = np.concatenate(([0], np.cumsum(counts)))  # (documents + 1,)

    def search(self, queries: Vectors, k: int) -> tuple[Vectors, Numbers]:
        """Return scores and numbers of the k best documents, best first.

        `queries` is (queries, dimensions); both results are (queries, min(k, documents)).
        """
        k = min(k, len(self.doc_ids))
        norms = np.sqrt(np.einsum("qd,qd->q", queries, queries, dtype=np.float64))  # (queries,)
        # twice the largest error of a float32 product of this many dimensions
        slack = norms * self.largest_norm * (queries.shape[1] + 4) * 2.0**-23 + 1e-37
        if self.similarity in DISTANCES:  # of a distance that is rounded
            slack = (norms + self.largest_norm) * queries.shape[1] ** 0.5 * 2.0**-22 + 1e-37
        candidates = Shortlist(self, queries.astype(np.float64), slack, k)
        for first, last in self._blocks():
            rows = slice(self.starts[first], self.starts[last])
            block = self.vectors[rows]
            scores = compare(queries, block, self.similarity)  # (queries, rows)
            if rows.stop - rows.start != last - first:  # the best chunk of each document
                chunks = self.starts[first:last] - rows.start
                scores = np.maximum.reduceat(scores, chunks, axis=1)  # (queries, documents)
            candidates.add(first, scores)
        return candidates.ranked()

    def best_rows(self, queries: Vectors, documents: Numbers) -> Numbers:
        """Return the row of the corpus that found each document (queries, k), (queries, k).

        Of equally good rows, the first.
        """
        rows = np.empty(documents.shape, np.int64)
        for query, row in zip(queries.astype(np.float64), range(len(documents)), strict=True):
            for rank, document in enumerate(documents[row]):
                first, last = self.starts[document], self.starts[document + 1]
                best = 0
                if last - first > 1:
                    vectors = self.vectors[first:last].astype(np.float64)
                    same = np.broadcast_to(query, vectors.shape)
                    best = int(np.argmax(self.pairwise(same, vectors)))
                rows[row, rank] = self.rows[first + best]
        return rows

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Yield first document and end of each block of about `block` rows."""
        first = 0
        while first < len(self.doc_ids):
            end = self.starts[first] + self.block
            last = max(int(np.searchsorted(self.starts, end, side="right")) - 1, first + 1)
            yield first, last
            first = last


class Shortlist:
    """Candidates for the k best documents of each query so far.

    Float32 scores choose them, because a true score costs as much as twenty of these; true scores
    decide only if very many tie, and at the end.
    """

    def __init__(self, index: Index, queries: Floats, slack: Floats, k: int) -> None:
        self.index, self.queries, self.k = index, queries, k
        self.slack = 2 * slack  # between float32 scores of equal true scores
        self.least = np.full(len(queries), -np.inf, np.float32)  # lower scores are out
        self.pairs: list[tuple[Numbers, Numbers, Vectors]] = []  # queries, documents, scores
        self.new = 0  # pairs since they were looked through

    def add(self, first: int, scores: Vectors) -> None:
        """Add the documents from number `first` with their scores, (queries, documents)."""
        count, documents = scores.shape
        passing = scores >= self.least[:, None]  # (queries, documents)
        if documents > self.k and np.count_nonzero(passing) > 4 * self.k * count:
            own = np.partition(scores, documents - self.k, axis=1)[:, documents - self.k]
            self.least = np.maximum(self.least, (own - self.slack).astype(np.float32))
            passing = scores >= self.least[:, None]
        places = np.flatnonzero(passing)
        query, document = np.divmod(places, documents)
        self.pairs.append((query, document + first, scores.ravel()[places]))
        self.new += len(places)
        if self.new >= self.k * count:
            self._drop()

    def _drop(self) -> None:
        """Drop candidates that are far from the k best."""
        query, document, scores = (np.concatenate(part) for part in zip(*self.pairs, strict=True))
        order = np.lexsort((-scores, query))
        last = order[self._ranks(query[order]) == self.k - 1]
        least = scores[last] - self.slack[query[last]]
        self.least[query[last]] = np.maximum(self.least[query[last]], least.astype(np.float32))
        kept = np.flatnonzero(scores >= self.least[query])
        self.pairs, self.new = [(query[kept], document[kept], scores[kept])], 0
        if len(kept) > 4 * self.k * len(self.least):
            self._rank()

    def _rank(self) -> None:
        """Leave the k best by true scores, best first; equal ones by their places."""
        query, document, _ = (np.concatenate(part) for part in zip(*self.pairs, strict=True))
        scores = self._scores(query, document)
        order = np.lexsort((self.index.place[document], -scores, query))
        kept = order[self._ranks(query[order]) < self.k]
        self.pairs = [(query[kept], document[kept], scores[kept])]

    def _ranks(self, query: Numbers) -> Numbers:
        """Return the rank of each pair within its query, for pairs sorted by query."""
        return np.arange(len(query)) - np.searchsorted(query, np.arange(len(self.least)))[query]

    def _scores(self, query: Numbers, document: Numbers) -> Vectors:
        """Return the true scores of pairs, rounded once: equal vectors get equal scores."""
        maxima = [np.empty(0, np.float32)]
        starts, vectors = self.index.starts, self.index.vectors
        for first in range(0, len(query), PAIRS):
            documents = document[first : first + PAIRS]
            lengths = starts[documents + 1] - starts[documents]  # chunks of each document
            ends = np.cumsum(lengths)
            rows = np.arange(ends[-1]) + np.repeat(starts[documents] - ends + lengths, lengths)
            queries = self.queries[np.repeat(query[first : first + PAIRS], lengths)]
            products = self.index.pairwise(queries, vectors[rows].astype(np.float64))
            maxima.append(np.maximum.reduceat(products, ends - lengths).astype(np.float32))
        return np.concatenate(maxima)

    def ranked(self) -> tuple[Vectors, Numbers]:
        """Return scores and documents (queries, k), best first."""
        self._rank()
        _, document, scores = self.pairs[0]
        shape = (len(self.least), self.k)
        return scores.reshape(shape), document.reshape(shape)
