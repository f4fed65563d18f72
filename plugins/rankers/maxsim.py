"""Embeddings of parts: the best row of a document for each row of the query (--embeddings)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from structkit import plugin
from structkit.embeddings.reading import Embeddings, read_embeddings, same_model
from structkit.embeddings.vectors import Floats, unit
from structkit.errors import UserError
from structkit.ranking.candidates import Candidate, Query


@dataclass(frozen=True)
class Ranker(plugin.Ranker):
    """The mean over the query's rows of the greatest cosine that a row of the document has.

    Rows are what `encode --chunk`, `--elements` or `--nodes` writes, or one a text; they belong to
    the query or the document whose id is their `doc_id`. Khattab and Zaharia, ColBERT (2020).
    """

    embeddings: str = field(metadata={"remedy": "name what structkit encode wrote of the corpus"})
    query_embeddings: str = field(
        metadata={"remedy": "name what structkit encode --as query wrote of the queries"}
    )

    def scores(self, query: Query, hits: Sequence[Candidate]) -> Floats:
        """-1 … 1 for each hit."""
        rows = unit(self.queries.of(query.id, "query"))
        scores = []
        for hit in hits:
            products = rows @ unit(self.documents.of(hit.doc_id, "document")).T
            scores.append(float(products.max(axis=1).mean()))
        return np.array(scores)

    @cached_property
    def documents(self) -> RowsOfTexts:
        """The rows of the documents."""
        return RowsOfTexts(self.embeddings)

    @cached_property
    def queries(self) -> RowsOfTexts:
        """The rows of the queries, by the same model."""
        rows, documents = RowsOfTexts(self.query_embeddings), self.documents.read
        same_model(rows.read.model, documents.model, self.query_embeddings, self.embeddings)
        if rows.read.dimensions != documents.dimensions:
            raise UserError(
                f"has {rows.read.dimensions} dimensions, and {self.embeddings} has "
                f"{documents.dimensions}",
                "encode queries and documents with one model",
            ).at(self.query_embeddings)
        return rows


class RowsOfTexts:
    """The rows of a file of embeddings by the texts whose parts they are."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.read: Embeddings = read_embeddings([file])
        self.places: dict[str, list[int]] = {}
        for place, doc_id in enumerate(self.read.doc_ids):
            self.places.setdefault(doc_id, []).append(place)

    def of(self, identifier: str, kind: str) -> Floats:
        """The rows of one text, (rows, dimensions)."""
        if identifier not in self.places:
            raise UserError(
                f'{kind} "{identifier}" of the run has no row', "encode what was searched"
            ).at(self.file)
        return self.read.vectors[np.array(self.places[identifier])]
