"""Rankers: what a file of rankers/ provides, and is given: a query, and hits with their records."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from structkit.embeddings.vectors import Floats
from structkit.records.jsonl import Record
from structkit.registry import Contract


class Query(NamedTuple):
    """A query and its text."""

    id: str
    text: str


class Candidate(NamedTuple):
    """A hit: its score, scaled to 0 … 1 within its query, and its record in the corpus."""

    doc_id: str
    score: float
    record: Record

    @property
    def path(self) -> str:
        """The path of its file, empty if the record has none."""
        path = self.record.get("path")
        return path if isinstance(path, str) else ""

    @property
    def names(self) -> list[str]:
        """The names that it defines, as written by `collect`."""
        names = self.record.get("names", [self.record.get("name")])
        names = names if isinstance(names, list) else [names]
        return [name for name in names if isinstance(name, str)]


@dataclass(frozen=True)
class Ranker(Contract):
    """A file of rankers/: one signal of how well a hit answers.

    Its flags are those of `rerank`: embeddings, query_embeddings.
    """

    weight: ClassVar[float] = 0.2
    """Its weight where none is given; the search's own scores are 0 … 1."""

    @abstractmethod
    def scores(self, query: Query, hits: Sequence[Candidate]) -> Floats:
        """A score for each hit of a query, (hits,): 0 … 1, or below 0 to demote it."""
