"""Late interaction: the best embedding of a document for each of the query (--embeddings)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from structkit import plugin
from structkit.embeddings.reading import read_embeddings, same_model
from structkit.embeddings.vectors import Floats, unit
from structkit.errors import UserError, program
from structkit.plugin import setting
from structkit.ranking.reranking import Candidate, Query
from structkit.records.jsonl import input_name


def encoded(what: str, **settings: str) -> str:
    """Return the remedy for missing embeddings."""
    return f"name the {what} as encoded by {program('encode', **settings)}"


@dataclass(frozen=True)
class Ranker(plugin.Ranker):
    """The mean over the query's rows of the largest cosine with a row of the document.

    Rows are of `encode --chunk` or `--rows`, or one per text; their `doc_id` is
    the id of their query or document. Source: Khattab and Zaharia 2020, ColBERT.
    """

    embeddings: str = setting(..., remedy=lambda: encoded("corpus"))
    query_embeddings: str = setting(..., remedy=lambda: encoded("queries", as_="query"))

    def scores(self, query: Query, hits: Sequence[Candidate]) -> Floats:
        """Return -1 … 1 for each hit."""
        rows = unit(self.queries.of(query.id, "query"))
        found = (unit(self.documents.of(hit.doc_id, "document")) for hit in hits)
        return np.array([float((rows @ each.T).max(axis=1).mean()) for each in found])

    @cached_property
    def documents(self) -> RowsOfTexts:
        """The rows of the documents."""
        return RowsOfTexts(self.embeddings)

    @cached_property
    def queries(self) -> RowsOfTexts:
        """The rows of the queries, by the same model."""
        queries, documents = RowsOfTexts(self.query_embeddings), self.documents
        same_model(queries.read.model, documents.read.model, queries.file, documents.file)
        dimensions, others = queries.read.dimensions, documents.read.dimensions
        if dimensions != others:
            problem = f"has {dimensions} dimensions, but {input_name(documents.file)} has {others}"
            remedy = "encode queries and documents with one model"
            raise UserError(problem, remedy).at(queries.file)
        return queries


class RowsOfTexts:
    """The rows of a file of embeddings, by the texts that they are parts of."""

    def __init__(self, file: str) -> None:
        self.file, self.read = file, read_embeddings([file])
        self.places: dict[str, list[int]] = {}
        for place, doc_id in enumerate(self.read.doc_ids):
            self.places.setdefault(doc_id, []).append(place)

    def of(self, identifier: str, kind: str) -> Floats:
        """Return the rows of one text, (rows, dimensions)."""
        if identifier not in self.places:
            problem = f'{kind} "{identifier}" of the run has no row'
            raise UserError(problem, "encode the searched records").at(self.file)
        return self.read.vectors[np.array(self.places[identifier])]
