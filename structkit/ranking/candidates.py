"""What rankers are given: a query, and the hits with their records."""

from __future__ import annotations

from typing import NamedTuple

from structkit.records.jsonl import Record


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
