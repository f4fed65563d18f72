"""Rows of `encode --quantize`: their codes find candidates, then vectors decide.

Of binary rows, candidates are those at the smallest Hamming distance from the query's signs; of
8-bit rows, those with the largest inner product. The vectors are the rows of `--rescore`, or the
codes' own. Source: Yamada et al. 2021, arXiv 2106.00882: candidates by Hamming distance, reranked
by inner product.
"""

from dataclasses import replace

import faiss
import numpy as np

from structkit import plugin
from structkit.embeddings.reading import Embeddings
from structkit.embeddings.vectors import (
    BinaryRows,
    Int8Rows,
    IntArray,
    Vectors,
    pack_signs,
)
from structkit.errors import flag, wrong_usage
from structkit.searching.exact import (
    RESCORE_FACTORS,
    RESCORE_PARAMETER,
    Exact,
    candidates_factor,
    same_rows,
)
from structkit.searching.hits import EmbeddedCorpus, check_options, check_similarity
from structkit.searching.index import Index
from structkit.searching.options import SearchOptions


class SignsIndex:
    """Binary rows by their Hamming distance, which is negative as a score."""

    def __init__(self, codes: Embeddings) -> None:
        bits = [part.bits for part in codes.vectors.parts if isinstance(part, BinaryRows)]
        self.bits = np.concatenate(bits) if len(bits) > 1 else bits[0]  # one stays on disk

    def search(self, queries: Vectors, rows: int) -> tuple[Vectors, IntArray]:
        """Return scores and numbers of the nearest rows, (queries, rows), best first."""
        distances, numbers = faiss.knn_hamming(pack_signs(queries), self.bits, rows)
        return -distances.astype(np.float32), numbers


class Backend(plugin.Backend):
    """Rows of encode --quantize: codes first, then the vectors of --rescore, or their own."""

    def open(self, corpus: EmbeddedCorpus, options: SearchOptions) -> Exact:
        """Open a corpus in .npy files of codes. Errors: `UserError` with file and line."""
        check_options(options, "codes", "explain", "parameters", "rescore", "similarity")
        codes = corpus.read(options)
        parts = codes.vectors.parts
        if not all(isinstance(part, Int8Rows | BinaryRows) for part in parts):
            raise wrong_usage(
                "holds floats, not codes",
                f"encode with {flag('quantize', 'int8')} or binary, or leave {flag('rescore')} out",
            ).at(corpus.files[0])
        binary = all(isinstance(part, BinaryRows) for part in parts)
        factor, others = candidates_factor(options, RESCORE_FACTORS["binary" if binary else "int8"])
        if others:
            raise wrong_usage(
                f"{flag('parameters', options.parameters)}: codes take only {RESCORE_PARAMETER}",
                f"{RESCORE_PARAMETER}=20 rescores 20 times as many rows as returned",
            )
        vectors = codes
        if options.rescore:  # most of these rows are never read
            vectors = EmbeddedCorpus(options.rescore).read(options, scan=False)
            same_rows(vectors, options.rescore[0], codes, corpus.files[0])
        if options.similarity != "maxsim":
            check_similarity(options, "codes", vectors)
        index = SignsIndex(codes) if binary else Index(replace(codes, doc_ids=codes.ids))
        return Exact(vectors, options, index, factor)
