"""Exact search: the best documents by a similarity, without the whole score matrix in memory.

The similarity is the inner product, or another of `PAIRWISE`; cosine is the inner product of rows
of length 1. A document of several rows has the score of its best one; with maxsim, queries have
several rows, too, and a score is the sum over these.

Equal scores are ordered by descending document id everywhere in structkit, because trec_eval reads
a run so.

A fast float32 product finds the candidates for the best documents; a float64 product decides
between them. BLAS rounds by the shape of its operands, so that equal documents get unequal float32
scores at different places of a matrix; the final score does not depend on place, block or machine.
Source of the error bound: Higham, Accuracy and Stability of Numerical Algorithms, 3.1.

Tests: tests/commands/test_search.py.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from structkit.embeddings.reading import Embeddings
from structkit.embeddings.vectors import (
    NOT_FINITE,
    ROWS_PER_BLOCK,
    Floats,
    IntArray,
    Matrix,
    UnitRows,
    Vectors,
    are_unit,
    normalize_rows,
    top_k,
)
from structkit.errors import UserError

# similarities of pairs of rows, (rows, dimensions) each, in float64
PAIRWISE: dict[str, Callable[[Floats, Floats], Floats]] = {
    "dot": lambda queries, rows: np.einsum("rd,rd->r", queries, rows),
    "euclidean": lambda queries, rows: -np.linalg.norm(queries - rows, axis=1),
    "manhattan": lambda queries, rows: -np.abs(queries - rows).sum(axis=1),
}
SCIPY_METRICS = {"euclidean": "euclidean", "manhattan": "cityblock"}  # as scipy has them
PAIRS_PER_BLOCK = 256  # documents that are scored in float64 together: they stay in the cache


def maxsim(queries: Floats, rows: Floats) -> float:
    """Return the sum over a query's rows of the largest inner product with a document's rows.

    Source: Khattab and Zaharia 2020, ColBERT, Equation 3.

    >>> maxsim(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[3.0, 0.5], [2.0, 1.0]]))
    4.0
    """
    # einsum adds in one order, whatever the number of rows; a product of matrices does not
    products = np.einsum("qd,rd->qr", queries.astype(np.float64), rows.astype(np.float64))
    return float(products.max(axis=1).sum())


def tie_ranks(doc_ids: Sequence[str]) -> IntArray:
    """Return the place of each document among equal scores: 0 for the last id in string order.

    >>> tie_ranks(["b", "a", "c"]).tolist()
    [1, 2, 0]
    """
    order = sorted(range(len(doc_ids)), key=doc_ids.__getitem__, reverse=True)
    return np.argsort(order)  # the inverse permutation


def float32_scores(queries: Vectors, rows: Vectors, similarity: str) -> Vectors:
    """Return the scores of queries and rows, (queries, rows), in float32.

    >>> rows = np.array([[0, 3], [1, 0]], np.float32)
    >>> float32_scores(np.array([[0, 2]], np.float32), rows, "cosine")
    array([[1., 0.]], dtype=float32)
    """
    if similarity == "cosine":
        queries, rows = normalize_rows(queries), normalize_rows(rows)
    if similarity not in SCIPY_METRICS:
        return queries @ rows.T
    from scipy.spatial.distance import cdist  # only for distances: it takes 0.2 s

    distances: Floats = cdist(queries, rows, SCIPY_METRICS[similarity])
    return (-distances).astype(np.float32)


class Index:
    """Documents ready for exact search."""

    def __init__(
        self, corpus: Embeddings, similarity: str = "dot", block: int = ROWS_PER_BLOCK
    ) -> None:
        self.similarity = "dot" if similarity in ("cosine", "maxsim") else similarity
        self.pairwise, self.block = PAIRWISE[self.similarity], block
        numbers: dict[str, int] = {}
        of_rows = [numbers.setdefault(doc_id, len(numbers)) for doc_id in corpus.doc_ids]
        self.doc_ids = list(numbers)
        self.document = np.array(of_rows)  # of each row, (rows,)
        self.place = tie_ranks(self.doc_ids)
        self.rows = np.argsort(self.document, kind="stable")  # rows of a document together
        vectors = corpus.vectors.take(self.rows)  # (rows, dimensions)
        self.vectors: Matrix | UnitRows = vectors
        self.largest_norm = corpus.largest_norm
        if similarity == "cosine" and not are_unit(vectors, 1e-6):
            self.vectors, self.largest_norm = UnitRows(vectors), 1.0
        self.lengths = np.bincount(self.document)  # rows of each document
        self.starts = np.concatenate(([0], np.cumsum(self.lengths)))  # (documents + 1,)

    def search(
        self,
        queries: Vectors,
        k: int,
        starts: IntArray | None = None,
        among: IntArray | None = None,
    ) -> tuple[Vectors, IntArray]:
        """Return scores and numbers of the k best documents, best first.

        `queries` is (queries, dimensions), or for maxsim their rows, of which `starts` are the
        first ones (queries,). `among` are the documents to compare, if not all. Both results are
        (queries, min(k, documents)).
        """
        documents = np.arange(len(self.doc_ids)) if among is None else np.sort(among)
        k, dimensions, largest = min(k, len(documents)), queries.shape[1], self.largest_norm
        if math.isinf(largest):
            largest = self._largest_norm(documents)
        norms = np.sqrt(np.einsum("qd,qd->q", queries, queries, dtype=np.float64))  # (queries,)
        # twice the largest error of a float32 product of this many dimensions
        slack = norms * largest * (dimensions + 4) * 2.0**-23 + 1e-37
        if self.similarity in SCIPY_METRICS:  # of a distance that is rounded
            slack = (norms + largest) * dimensions**0.5 * 2.0**-22 + 1e-37
        if starts is not None:  # errors of a sum add up
            slack = np.add.reduceat(slack, starts) * (1 + len(queries) / dimensions)
        candidates = Shortlist(self, queries.astype(np.float64), slack, k, starts)
        for block in self._blocks(documents):
            rows, firsts = self.rows_of(block)
            scores = float32_scores(queries, rows, self.similarity)  # (queries, rows)
            if len(rows) != len(block):  # the best row of each document
                scores = np.maximum.reduceat(scores, firsts, axis=1)  # (queries, documents)
            if starts is not None:
                scores = np.add.reduceat(scores, starts, axis=0)
            candidates.add(block, scores)
        return candidates.ranked()

    def rows_of(self, documents: IntArray) -> tuple[Vectors, IntArray]:
        """Return the rows of documents, one after the other, and the first row of each."""
        lengths = self.lengths[documents]
        ends = np.cumsum(lengths)
        firsts = ends - lengths
        first, last = self.starts[documents[0]], self.starts[documents[-1] + 1]
        if last - first == ends[-1] and (np.diff(documents) > 0).all():
            return self.vectors[first:last], firsts
        rows = np.arange(ends[-1]) + np.repeat(self.starts[documents] - firsts, lengths)
        return self.vectors[rows], firsts

    def _largest_norm(self, documents: IntArray) -> float:
        """Return the largest norm of rows that were not looked at yet. Errors: NaN, infinity."""
        largest = 0.0
        for block in self._blocks(documents):
            rows, firsts = self.rows_of(block)
            squares = np.einsum("rd,rd->r", rows, rows)
            finite = np.isfinite(squares)
            if not finite.all():
                number = np.searchsorted(firsts, np.argmin(finite), "right") - 1
                problem = f'the vector of "{self.doc_ids[block[number]]}" holds NaN or infinity'
                raise UserError(problem, NOT_FINITE)
            largest = max(largest, float(squares.max()))
        return math.sqrt(largest)

    def best_rows(self, queries: Vectors, documents: IntArray) -> IntArray:
        """Return the row of the corpus that found each document (k,) for a query, (k,).

        `queries` are its rows, one without maxsim. Of equally good rows, the first.
        """
        found = []
        exact = queries.astype(np.float64)
        for document in documents:
            first, last = self.starts[document], self.starts[document + 1]
            best = 0
            if last - first > 1:
                vectors = self.vectors[first:last].astype(np.float64)
                repeated = (np.broadcast_to(query, vectors.shape) for query in exact)
                scores = np.max([self.pairwise(each, vectors) for each in repeated], axis=0)
                best = int(np.argmax(scores))
            found.append(self.rows[first + best])
        return np.array(found)

    def _blocks(self, documents: IntArray) -> Iterator[IntArray]:
        """Yield some documents at a time, of about `block` rows together."""
        ends = np.cumsum(self.lengths[documents])
        first = rows_before = 0
        while first < len(documents):
            last = int(np.searchsorted(ends, rows_before + self.block, side="right"))
            last = max(last, first + 1)
            yield documents[first:last]
            first, rows_before = last, ends[last - 1]


class Shortlist:
    """Candidates for the k best documents of each query so far.

    Float32 scores choose them, because a true score costs as much as twenty of these; true scores
    decide only if very many tie, and at the end.
    """

    def __init__(
        self, index: Index, queries: Floats, slack: Floats, k: int, starts: IntArray | None = None
    ) -> None:
        self.index, self.k = index, k
        firsts = np.arange(len(queries)) if starts is None else starts
        self.rows = np.split(queries, firsts[1:])  # of each query
        self.slack = 2 * slack  # between float32 scores of equal true scores
        self.least = np.full(len(slack), -np.inf, np.float32)  # lower scores are out
        self.pairs: list[tuple[IntArray, IntArray, Vectors]] = []  # queries, documents, scores
        self.new = 0  # pairs since they were looked through

    def add(self, documents: IntArray, scores: Vectors) -> None:
        """Add documents with their scores, (queries, documents)."""
        query_count, width = scores.shape
        passing = scores >= self.least[:, None]  # (queries, documents)
        if width > self.k and np.count_nonzero(passing) > 4 * self.k * query_count:
            kth = width - self.k
            kth_best = np.partition(scores, kth, axis=1)[:, kth]  # (queries,)
            self.least = np.maximum(self.least, (kth_best - self.slack).astype(np.float32))
            passing = scores >= self.least[:, None]
        places = np.flatnonzero(passing)
        query, column = np.divmod(places, width)
        self.pairs.append((query, documents[column], scores.ravel()[places]))
        self.new += len(places)
        if self.new >= self.k * query_count:
            self._drop()
            if len(self.pairs[0][0]) > 4 * self.k * query_count:
                best, documents = self._rank()
                query = np.arange(query_count).repeat(self.k)
                self.pairs = [(query, documents.ravel(), best.ravel())]

    def ranked(self) -> tuple[Vectors, IntArray]:
        """Return scores and documents (queries, k), best first."""
        self._drop()
        return self._rank()

    def _drop(self) -> None:
        """Drop candidates that are far from the k best, and order the others by query."""
        pairs = [np.concatenate(part) for part in zip(*self.pairs, strict=True)]
        order = np.argsort(pairs[0], kind="stable")
        query, document, scores = (part[order] for part in pairs)
        for number, here in self._of_queries(query):
            kth = here.stop - here.start - self.k
            if kth >= 0:
                kth_best = np.partition(scores[here], kth)[kth]
                self.least[number] = max(self.least[number], kth_best - self.slack[number])
        kept = np.flatnonzero(scores >= self.least[query])
        self.pairs, self.new = [(query[kept], document[kept], scores[kept])], 0

    def _of_queries(self, query: IntArray) -> Iterator[tuple[int, slice]]:
        """Yield each query with the place of its pairs, which are ordered by query."""
        ends = np.searchsorted(query, np.arange(len(self.rows) + 1)).tolist()
        return enumerate(map(slice, ends, ends[1:]))

    def _rank(self) -> tuple[Vectors, IntArray]:
        """Return the k best by true scores, best first; equal ones by their places."""
        query, document, _ = self.pairs[0]
        scores = np.empty((len(self.rows), self.k), np.float32)
        documents = np.empty(scores.shape, np.int64)
        for number, here in self._of_queries(query):
            candidates = document[here]
            exact = self._true_scores(self.rows[number], candidates)
            best = top_k(exact, self.index.place[candidates], self.k)
            scores[number], documents[number] = exact[best], candidates[best]
        return scores, documents

    def _true_scores(self, rows: Floats, documents: IntArray) -> Vectors:
        """Return a query's true scores, rounded once: equal vectors get equal scores."""
        scores = list[Vectors]()
        for first in range(0, len(documents), PAIRS_PER_BLOCK):
            vectors, firsts = self.index.rows_of(documents[first : first + PAIRS_PER_BLOCK])
            vectors = vectors.astype(np.float64)
            repeated = (np.broadcast_to(row, vectors.shape) for row in rows)
            of_rows = [self.index.pairwise(row, vectors) for row in repeated]  # (rows, vectors)
            best = np.maximum.reduceat(of_rows, firsts, axis=1)  # (rows, documents)
            scores.append(best.sum(axis=0).astype(np.float32))
        return np.concatenate(scores)
