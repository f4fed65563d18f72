"""Order the hits of runs by rankers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from structkit.embeddings.reading import identified
from structkit.errors import UserError
from structkit.ranking.candidates import Query
from structkit.ranking.reranking import ranking_of, weight_of
from structkit.ranking.reranking import rerank as ordered
from structkit.records.jsonl import Record, Records
from structkit.scoring.runs import Hit, Run, ranking, read_run, run_records
from structkit.search.fusion import fused, stretched
from structkit.search.texts import query_text


def rerank(
    runs: Sequence[str],
    *,
    corpus: Sequence[str],
    queries: Sequence[str],
    rankers: Sequence[str] = (),
    preset: str | None = None,
    group: str | None = None,
    repeats: float | None = None,
    query_field: str | None = None,
    k: int = 100,
) -> Iterator[Record]:
    """Run records: the k best hits of each query by their scores and by rankers, best first.

    Each query's scores are stretched to 0 … 1, of several runs their mean counts, and every ranker
    adds its weight times what it says of the hit. `rankers` are `NAME` or `NAME=WEIGHT`, beside
    those of `preset`. Queries come in the order of the runs. A hit that is not in the corpus, a
    query that is not among the queries raise.
    """
    order = ranking_of(preset, dict(map(weight_of, rankers)), group, repeats)
    run = together([read_run(path) for path in runs])
    records = records_of(corpus, {doc_id for hits in run.values() for doc_id in hits})
    texts = texts_of(queries, run, query_field)
    for query_id, scores in run.items():
        hits = [Hit(doc_id, scores[doc_id]) for doc_id in ranking(scores)]
        query = Query(query_id, texts[query_id])
        yield from run_records(query_id, ordered(query, hits, records, order, k))


def together(runs: Sequence[Run]) -> Run:
    """One run of several: the mean of each query's stretched scores."""
    if len(runs) == 1:
        return runs[0]
    share = [1 / len(runs)] * len(runs)
    return {
        query_id: fused([run[query_id] for run in runs if query_id in run], share, stretched)
        for query_id in dict.fromkeys(query_id for run in runs for query_id in run)
    }


def records_of(files: Sequence[str], wanted: Collection[str]) -> dict[str, Record]:
    """The records of a corpus with these ids; others are read over, a missing one raises."""
    records = Records.read(files)
    rows = identified(records, lambda record: record if record["id"] in wanted else None)
    documents = {doc_id: record for doc_id, record in rows if record is not None}
    if lost := next((doc_id for doc_id in wanted if doc_id not in documents), None):
        raise UserError(
            f'document "{lost}" of the run is not there', "name the corpus that was searched"
        ).at(records.lines.file)
    return documents


def texts_of(files: Sequence[str], wanted: Collection[str], field: str | None) -> dict[str, str]:
    """The texts of the queries with these ids; a missing one raises."""
    records = Records.read(files)
    rows = identified(
        records, lambda record: query_text(record, field) if record["id"] in wanted else None
    )
    texts = {query_id: text for query_id, text in rows if text is not None}
    if lost := next((query_id for query_id in wanted if query_id not in texts), None):
        raise UserError(
            f'query "{lost}" of the run is not there', "name the queries that were asked"
        ).at(records.lines.file)
    return texts
