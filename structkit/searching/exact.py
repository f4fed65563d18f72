"""Documents ranked by their vectors: all of them, or those with rows that an index finds first.

Tests: tests/searching/test_codes.py, tests/searching/test_maxsim.py.
"""

import math
from typing import Protocol

import numpy as np

from structkit.embeddings.reading import Embeddings, same_model
from structkit.embeddings.vectors import IntArray, Vectors
from structkit.errors import UserError
from structkit.records.jsonl import Record, input_name
from structkit.searching.hits import Hit, Searcher, row_record
from structkit.searching.index import Index
from structkit.searching.options import SearchOptions

RESCORE_PARAMETER = "k_factor_rf"  # as faiss calls it
# its usual values: rows that are rescored by their vectors, or documents for maxsim
RESCORE_FACTORS = {"ivf": 10, "int8": 4, "binary": 20, "maxsim": 40}
# minimum documents for maxsim, and rows found for each row of a query and each such document: of
# 97,541 documents of 96 rows, an index ivf of 6,109 clusters, 128 of them searched, found 0.56,
# 0.76, 0.90 and 0.99 of the best ten of 16 queries of 32 rows with 1,000, 2,000, 4,000 and 4,000
# documents, and 1, 0.5, 0.5 and 2 rows for each; a query took 0.15, 0.20, 0.34 and 0.39 CPU seconds
# on an AMD EPYC, 1.5 without an index
MIN_MAXSIM_DOCUMENTS = 4000
MAXSIM_ROWS_PER_DOCUMENT = 2


class RowIndex(Protocol):
    """Index of rows, as those of faiss are."""

    def search(self, queries: Vectors, rows: int) -> tuple[Vectors, IntArray]:
        """Return scores and numbers of the best rows for each query row, best first.

        A number is -1 where it finds fewer.
        """
        ...


class Exact(Searcher):
    """A corpus in memory or mapped; a document's score depends on all its rows.

    With `candidates` only documents of rows that these find are compared: of `factor` times as many
    rows as are wanted, or with maxsim so many documents, at least `MIN_MAXSIM_DOCUMENTS`, with the
    largest sums of found rows.
    """

    def __init__(
        self,
        corpus: Embeddings,
        options: SearchOptions,
        candidates: RowIndex | None = None,
        factor: float = 0.0,
    ) -> None:
        self.corpus, self.options = corpus, options
        self.candidates, self.factor = candidates, factor
        self.index = Index(corpus, options.similarity)
        self.dimensions, self.model = corpus.dimensions, corpus.model
        self.cut = corpus.meta.get("dimensions")

    def search(self, queries: Vectors, k: int, starts: IntArray | None = None) -> list[list[Hit]]:
        firsts = np.arange(len(queries)) if starts is None else starts
        of_queries = np.split(queries, firsts[1:])
        if self.candidates is None:
            scores, documents = self.index.search(queries, k, starts)  # (queries, k) each
            ranked = list(zip(scores, documents, strict=True))
        else:
            whole = None if starts is None else np.zeros(1, np.int64)
            ranked = []
            for rows, among in zip(of_queries, self.among(queries, firsts, k), strict=True):
                scores, documents = self.index.search(rows, k, whole, among)
                ranked.append((scores[0], documents[0]))
        doc_ids, explain = self.index.doc_ids, self.options.explain
        hits = []
        for rows, (scores, documents) in zip(of_queries, ranked, strict=True):
            best: list[Record | None] = [None] * len(documents)
            if explain:
                found = self.index.best_rows(rows, documents)
                best = [row_record(self.corpus, row) for row in found.tolist()]
            named = zip(documents.tolist(), scores.tolist(), best, strict=True)
            hits.append([Hit(doc_ids[number], score, row) for number, score, row in named])
        return hits

    def among(self, queries: Vectors, firsts: IntArray, k: int) -> list[IntArray]:
        """Return the numbers of the documents to compare with each query, at least k if found."""
        assert self.candidates
        total, documents = len(self.corpus.doc_ids), len(self.index.doc_ids)
        summed = self.options.similarity == "maxsim"
        most = max(MIN_MAXSIM_DOCUMENTS, math.ceil(k * self.factor))
        # as many rows as k documents have on average, and more while that is too few
        rows = (
            MAXSIM_ROWS_PER_DOCUMENT * most
            if summed
            else math.ceil(k * math.ceil(total / documents) * self.factor)
        )
        while True:
            rows = min(rows, total)
            scores, numbers = self.candidates.search(np.ascontiguousarray(queries), rows)
            found = best_documents(scores, numbers, self.index.document, firsts)
            if rows == total or all(len(each) >= min(k, documents) for each in found):
                return [each[:most] for each in found] if summed else found
            rows *= 2


def best_documents(
    scores: Vectors, numbers: IntArray, document: IntArray, firsts: IntArray
) -> list[IntArray]:
    """Return the documents of the rows that were found for the rows of each query, best first.

    A document has the sum over the query's rows of its best row's score; where none of its rows was
    found, that of the last row found, which it does not exceed. Source: Lee et al. 2023,
    "Rethinking the Role of Token Retrieval in Multi-Vector Retrieval", XTR.

    >>> scores, numbers = np.float32([[9, 8, 5], [7, 4, 3]]), np.array([[0, 1, 3], [4, 3, 2]])
    >>> best_documents(scores, numbers, np.array([0, 1, 1, 2, 2]), np.array([0]))[0].tolist()
    [0, 2, 1]
    >>> best_documents(scores, numbers, np.array([0, 1, 1, 2, 2]), np.array([0, 1]))[1].tolist()
    [2, 1]
    """
    found, size = [], int(document.max()) + 1
    for first, last in zip(firsts, [*firsts[1:], len(scores)], strict=True):
        some, rows = scores[first:last], numbers[first:last]
        there = rows >= 0
        lowest = np.where(there, some, np.inf).min(axis=1)  # (rows of the query,)
        of_row, _ = np.nonzero(there)  # the best of each row of the query first
        pairs, best = np.unique(of_row * size + document[rows[there]], return_index=True)
        above = some[there][best] - lowest[of_row[best]]
        documents, place = np.unique(pairs % size, return_inverse=True)
        found.append(documents[np.argsort(-np.bincount(place, above), kind="stable")])
    return found


def candidates_factor(options: SearchOptions, usual: float) -> tuple[float, str]:
    """Return the factor among the parameters of a search, and the others."""
    given = [each.partition("=") for each in (options.parameters or "").split(",") if each]
    factors = [float(value) for name, _, value in given if name == RESCORE_PARAMETER]
    others = ",".join(f"{name}={value}" for name, _, value in given if name != RESCORE_PARAMETER)
    return factors[-1] if factors else usual, others


def same_rows(vectors: Embeddings, file: str, codes: Embeddings, corpus: str) -> None:
    """Raise if two files do not hold the same rows of one model."""
    same_model(vectors.model, codes.model, file, corpus)
    rows = [(each.vectors.shape, each.ids, each.doc_ids) for each in (codes, vectors)]
    if rows[0] != rows[1]:
        remedy = "name embeddings of the same records, in the same order"
        raise UserError(f"holds other rows than {input_name(corpus)}", remedy).at(file)
