"""Rankers: what a file of rankers/ provides, and is given: a query, and hits with their records."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from structkit.embeddings.vectors import Floats
from structkit.errors import UserError
from structkit.records.fields import query_text
from structkit.records.jsonl import Record, Records, parse_each
from structkit.registry import Contract
from structkit.scoring.runs import Hit, Run, ranking


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


@dataclass(frozen=True)
class Candidates:
    """What to rank: the hits of each query, their records, and the queries."""

    run: Run
    records: dict[str, Record]
    queries: dict[str, Record]
    query_field: str | None = None

    @classmethod
    def read(
        cls,
        run: Run,
        corpus: Sequence[str],
        queries: Sequence[str],
        query_field: str | None = None,
    ) -> Candidates:
        """The records of the hits and the queries of a run; a missing one raises."""
        documents = {doc_id for hits in run.values() for doc_id in hits}
        records = read_some(corpus, documents, "document", "name the corpus that was searched")

        def asked(record: Record) -> Record:
            query_text(record, query_field)  # what cannot be asked is told with its line
            return record

        questions = read_some(queries, run, "query", "name the queries that were asked", asked)
        return cls(run, records, questions, query_field)

    def __iter__(self) -> Iterator[tuple[Query, list[Hit]]]:
        for query_id, scores in self.run.items():
            text = query_text(self.queries[query_id], self.query_field)
            hits = [Hit(doc_id, scores[doc_id]) for doc_id in ranking(scores)]
            yield Query(query_id, text), hits


def read_some(
    files: Sequence[str],
    wanted: Collection[str],
    kind: str,
    remedy: str,
    checked: Callable[[Record], Record] = lambda record: record,
) -> dict[str, Record]:
    """The records with these ids; others are skipped, a missing one raises."""
    records = Records.read(files)
    rows = parse_each(records, lambda record: checked(record) if record["id"] in wanted else None)
    kept = {identifier: record for identifier, record in rows if record is not None}
    if lost := [identifier for identifier in wanted if identifier not in kept]:
        problem = UserError(f'has no {kind} "{lost[0]}", which is in the run', remedy)
        raise problem.at(records.lines.file)
    return kept
