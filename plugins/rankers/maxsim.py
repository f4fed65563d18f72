"""Late interaction: each row of a query counts its best row of the document (--embeddings)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from structkit import plugin
from structkit.embeddings.reading import check_comparable, read_embeddings
from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError, program
from structkit.plugin import setting
from structkit.ranking.reranking import Candidate, Query
from structkit.searching.index import Index, maxsim
from structkit.settings import settings_class


@settings_class
class Ranker(plugin.Ranker):
    """The score of `search --similarity maxsim`: inner products, summed over the query's rows.

    Rows are of `encode --rows` or `--chunk`, or one per text; their `doc_id` is the id of their
    query or document.
    """

    embeddings: str = setting(..., remedy=lambda: f"name the encoded corpus of {program('encode')}")
    query_embeddings: str = setting(
        ..., remedy=lambda: f"name the encoded queries of {program('encode', as_='query')}"
    )

    def scores(self, query: Query, hits: Sequence[Candidate]) -> list[float]:
        """Return the sum for each hit, rounded as in a run."""
        rows = self.queries.of(query.id, "query")
        found = (self.documents.of(hit.doc_id, "document") for hit in hits)
        return [float(np.float32(maxsim(rows, each))) for each in found]

    @cached_property
    def documents(self) -> RowsOfTexts:
        """The rows of the documents."""
        return RowsOfTexts(self.embeddings)

    @cached_property
    def queries(self) -> RowsOfTexts:
        """The rows of the queries, by the same model."""
        queries, documents = RowsOfTexts(self.query_embeddings), self.documents
        check_comparable(queries.read, documents.read, queries.file, documents.file)
        return queries


class RowsOfTexts:
    """The rows of a file of embeddings, by the texts that they are parts of."""

    def __init__(self, file: str) -> None:
        self.file, self.read = file, read_embeddings([file])
        self.index = Index(self.read, "maxsim")
        self.numbers = {doc_id: number for number, doc_id in enumerate(self.index.doc_ids)}

    def of(self, identifier: str, kind: str) -> Vectors:
        """Return the rows of one text, (rows, dimensions)."""
        if identifier not in self.numbers:
            problem = f'{kind} "{identifier}" of the run has no row'
            raise UserError(problem, "encode the searched records").at(self.file)
        return self.index.rows_of(np.array([self.numbers[identifier]]))[0]
