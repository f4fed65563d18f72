"""Late interaction: the best embedding of a document for each of the query (--embeddings)."""

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
    """The mean over the query's rows of the largest cosine with a row of the document.

    Rows are of `encode --chunk`, `--elements` or `--nodes`, or one per text; their `doc_id` is
    the id of their query or document. Source: Khattab and Zaharia 2020, ColBERT.
    """

    embeddings: str = field(metadata={"remedy": "name the corpus as encoded by structkit encode"})
    query_embeddings: str = field(
        metadata={"remedy": "name the queries as encoded by structkit encode --as query"}
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
                f"has {rows.read.dimensions} dimensions, but {self.embeddings} has "
                f"{documents.dimensions}",
                "encode queries and documents with one model",
            ).at(self.query_embeddings)
        return rows


class RowsOfTexts:
    """The rows of a file of embeddings, by the texts that they are parts of."""

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
