"""What rankers are given: a query, and the hits with their records."""

from __future__ import annotations

from typing import NamedTuple

from structkit.records.jsonl import Record


class Query(NamedTuple):
    """A query and its text."""

    id: str
    text: str


class Candidate(NamedTuple):
    """A hit: its score among those of its query, 0 … 1, and its record of the corpus."""

    doc_id: str
    score: float
    record: Record
