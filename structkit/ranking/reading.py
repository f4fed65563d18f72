"""What to rank, read from files: runs, the records of their hits, and queries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from structkit.embeddings.reading import identified
from structkit.errors import UserError
from structkit.ranking.candidates import Query
from structkit.ranking.reranking import Ranking, rerank
from structkit.records.jsonl import Record, Records
from structkit.records.texts import query_text
from structkit.scoring.runs import Hit, Run, ranking, run_records
from structkit.searching.fusion import fused, stretched


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
        records = chosen(corpus, documents, "document", "name the corpus that was searched")

        def asked(record: Record) -> Record:
            query_text(record, query_field)  # what cannot be asked is told with its line
            return record

        questions = chosen(queries, run, "query", "name the queries that were asked", asked)
        return cls(run, records, questions, query_field)

    def __iter__(self) -> Iterator[tuple[Query, list[Hit]]]:
        for query_id, scores in self.run.items():
            text = query_text(self.queries[query_id], self.query_field)
            hits = [Hit(doc_id, scores[doc_id]) for doc_id in ranking(scores)]
            yield Query(query_id, text), hits


def reordered(candidates: Candidates, order: Ranking, k: int) -> Iterator[Record]:
    """Run records of the reranked hits."""
    for query, hits in candidates:
        yield from run_records(query.id, rerank(query, hits, candidates.records, order, k))


def together(runs: Sequence[Run]) -> Run:
    """One run from several: the mean of each query's scaled scores."""
    if len(runs) == 1:
        return runs[0]
    share = [1 / len(runs)] * len(runs)
    return {
        query_id: fused([run.get(query_id, {}) for run in runs], share, points)
        for query_id in dict.fromkeys(query_id for run in runs for query_id in run)
    }


def points(documents: dict[str, float]) -> dict[str, float]:
    """The scaled scores of a query, if any."""
    return stretched(documents) if documents else {}


def chosen(
    files: Sequence[str],
    wanted: Collection[str],
    kind: str,
    remedy: str,
    checked: Callable[[Record], Record] = lambda record: record,
) -> dict[str, Record]:
    """The records with these ids; others are skipped, a missing one raises."""
    records = Records.read(files)
    rows = identified(records, lambda record: checked(record) if record["id"] in wanted else None)
    kept = {identifier: record for identifier, record in rows if record is not None}
    if lost := [identifier for identifier in wanted if identifier not in kept]:
        raise UserError(f'has no {kind} "{lost[0]}", which is in the run', remedy).at(
            records.lines.file
        )
    return kept
