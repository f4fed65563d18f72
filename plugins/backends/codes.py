"""Rows of `encode --quantize`: their codes find candidates, then vectors decide.

Of binary rows, candidates are those at the smallest Hamming distance from the query's signs; of
8-bit rows, those with the largest inner product. The vectors are the rows of `--rescore`, or the
codes' own. Source: Yamada et al. 2021, arXiv 2106.00882: candidates by Hamming distance, reranked
by inner product.
"""

from __future__ import annotations

import math
from dataclasses import replace

import faiss
import numpy as np

from structkit import plugin
from structkit.embeddings.reading import Embeddings, same_model
from structkit.embeddings.vectors import (
    NEARLY,
    NOT_FINITE,
    BinaryRows,
    Int8Rows,
    Numbers,
    Vectors,
    are_unit,
    pack_signs,
)
from structkit.errors import UserError, flag
from structkit.records.jsonl import input_name
from structkit.searching.hits import (
    RESCORED,
    RESULTS,
    Approximate,
    EmbeddedCorpus,
    Hit,
    check_options,
    check_similarity,
)
from structkit.searching.index import Index, places
from structkit.searching.options import SearchOptions

FACTOR = "k_factor_rf"  # as faiss calls it


class CandidateIndex:
    """Index over mapped rows like one of faiss: `factor` times as many candidates as rows.

    Equal scores are ordered by descending document id.
    """

    def __init__(self, codes: Embeddings, vectors: Embeddings, factor: float) -> None:
        self.codes, self.vectors = codes, vectors.vectors
        parts = codes.vectors.parts
        self.bits = [part.bits for part in parts if isinstance(part, BinaryRows)]
        binary = len(self.bits) == len(parts)
        self.factor = factor or RESCORED["binary" if binary else "int8"]
        self.index = None if binary else Index(replace(codes, doc_ids=codes.ids))
        self.place = places(vectors.doc_ids)

    def count(self, rows: int) -> int:
        """Return the number of candidates for `rows` rows."""
        return min(len(self.codes.ids), math.ceil(rows * self.factor))

    def search(self, queries: Vectors, rows: int) -> tuple[Vectors, Numbers]:
        """Return scores and numbers of the best rows per query, (queries, rows), best first."""
        most = self.count(rows)
        found = self.index.search(queries, most)[1] if self.index else self._nearest(queries, most)
        scores = np.empty((len(queries), rows), np.float32)
        numbers = np.empty((len(queries), rows), np.int64)
        for place, (query, candidates) in enumerate(zip(queries, found, strict=True)):
            candidates = np.sort(candidates)  # rows of a file are read in their order
            vectors = self.vectors[candidates].astype(np.float64)
            repeated = np.broadcast_to(query.astype(np.float64), vectors.shape)
            products = np.einsum("rd,rd->r", repeated, vectors).astype(np.float32)
            if not np.isfinite(products).all():
                wrong = self.codes.ids[candidates[np.argmin(np.isfinite(products))]]
                raise UserError(f'the vector of "{wrong}" holds NaN or infinity', NOT_FINITE)
            best = np.lexsort((self.place[candidates], -products))[:rows]
            scores[place], numbers[place] = products[best], candidates[best]
        return scores, numbers

    def _nearest(self, queries: Vectors, most: int) -> Numbers:
        """Return the rows at the smallest Hamming distances, (queries, most)."""
        signs = pack_signs(queries)
        distances, numbers, start = [], [], 0
        for bits in self.bits:
            distance, number = faiss.knn_hamming(
                signs, np.ascontiguousarray(bits), min(most, len(bits))
            )
            distances.append(distance)
            numbers.append(number + start)
            start += len(bits)
        every = np.concatenate(numbers, axis=1)
        if len(self.bits) == 1:
            return every
        order = np.argsort(np.concatenate(distances, axis=1), axis=1, kind="stable")
        nearest: Numbers = np.take_along_axis(every, order[:, :most], axis=1)
        return nearest


class Codes(Approximate):
    """Candidates by codes, ranked by the vectors."""

    index: CandidateIndex

    def search(self, queries: Vectors, k: int) -> list[list[Hit]]:
        rows = k * math.ceil(self.rows / self.documents)
        size = max(1, RESULTS // self.index.count(rows))
        hits: list[list[Hit]] = []
        for first in range(0, len(queries), size):
            hits += super().search(queries[first : first + size], k)
        return hits


class Backend(plugin.Backend):
    """Rows of encode --quantize: codes first, then the vectors of --rescore, or their own."""

    def open(self, corpus: EmbeddedCorpus, options: SearchOptions) -> Codes:
        """Open a corpus in .npy files of codes. Errors: `UserError` with file and line."""
        check_options(options, "codes", "explain", "parameters", "rescore", "similarity")
        name, _, factor = (options.parameters or f"{FACTOR}=0").partition("=")
        if name != FACTOR or "," in factor:
            problem = f"{flag('parameters', options.parameters)}: codes take only {FACTOR}"
            remedy = f"{FACTOR}=20 rescores 20 times as many rows as returned"
            raise UserError(problem, remedy, status=2)
        codes = corpus.read(options)
        if not all(isinstance(part, Int8Rows | BinaryRows) for part in codes.vectors.parts):
            raise UserError(
                "holds floats, not codes",
                f"encode with {flag('quantize', 'int8')} or binary, or leave {flag('rescore')} out",
                status=2,
            ).at(corpus.files[0])
        vectors = codes
        if options.rescore:  # most of these rows are never read
            vectors = EmbeddedCorpus(options.rescore).read(options, scan=False)
            _check_rows(vectors, options.rescore[0], codes, corpus.files[0])
        unit = options.similarity == "cosine" and are_unit(vectors.vectors, NEARLY)
        check_similarity(options, "codes", unit=unit)
        return Codes(CandidateIndex(codes, vectors, float(factor)), vectors, options)


def _check_rows(vectors: Embeddings, file: str, codes: Embeddings, corpus: str) -> None:
    """Raise if two files do not hold the same rows of one model."""
    same_model(vectors.model, codes.model, file, corpus)
    rows = [(each.vectors.shape, each.ids, each.doc_ids) for each in (codes, vectors)]
    if rows[0] != rows[1]:
        remedy = "name embeddings of the same records, in the same order"
        raise UserError(f"holds other rows than {input_name(corpus)}", remedy).at(file)
