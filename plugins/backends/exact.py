"""Exact search over files: every document is compared, and ties always break the same way."""

from __future__ import annotations

from structkit import plugin
from structkit.embeddings.reading import Embeddings
from structkit.embeddings.vectors import Vectors
from structkit.searching.hits import EmbeddedCorpus, Hit, Searcher, check_options, row_record
from structkit.searching.index import Index
from structkit.searching.options import SearchOptions


class Backend(plugin.Backend):
    """Compares every document."""

    def open(self, corpus: EmbeddedCorpus, options: SearchOptions) -> Exact:
        """Open a corpus. Errors: `UserError` with file and line."""
        check_options(options, "exact", "explain", "similarity")
        return Exact(corpus.read(options), options)


class Exact(Searcher):
    """A corpus in memory or mapped; a document with several rows has the score of its best one."""

    def __init__(self, corpus: Embeddings, options: SearchOptions) -> None:
        self.corpus, self.options = corpus, options
        self.index = Index(corpus, options.similarity)
        self.dimensions, self.model = corpus.dimensions, corpus.model
        self.cut = corpus.meta.get("dimensions")

    def search(self, queries: Vectors, k: int) -> list[list[Hit]]:
        scores, documents = self.index.search(queries, k)  # (queries, k) each
        doc_ids = self.index.doc_ids
        hits = [
            [Hit(doc_ids[number], score) for number, score in zip(*row, strict=True)]
            for row in zip(documents.tolist(), scores.tolist(), strict=True)
        ]
        if not self.options.explain:
            return hits
        rows = self.index.best_rows(queries, documents).tolist()
        return [
            [
                hit._replace(best=row_record(self.corpus, row))
                for hit, row in zip(of_query, best, strict=True)
            ]
            for of_query, best in zip(hits, rows, strict=True)
        ]
