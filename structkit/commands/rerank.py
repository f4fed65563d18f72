"""Rerank the hits of runs, or fit the weights of the rankers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from structkit.command import Command
from structkit.ranking.options import RankingOptions
from structkit.records.jsonl import Record
from structkit.records.output import write_records
from structkit.records.stream import OutputOptions
from structkit.settings import setting

FITTING = "Fitting weights"


@dataclass(frozen=True, kw_only=True)
class Settings(RankingOptions):
    """Order the hits of runs by their scores, scaled to 0 … 1, plus what the rankers add."""

    runs: tuple[str, ...] = setting(
        ...,
        "Run files, JSONL or TREC; several are averaged.",
        argument=True,
        metavar="RUNS",
        reads=True,
    )
    corpus: tuple[str, ...] = setting(
        ..., "The records that were searched.", metavar="FILE", reads=True
    )
    queries: tuple[str, ...] = setting(
        ..., "The queries that were asked.", metavar="FILE", reads=True
    )
    query_field: str | None = setting(
        None, "Field with a query's text; default: the first of query, text, docstring."
    )
    k: int = setting(100, "Documents per query.", short="-k", low=1)
    format: Literal["jsonl", "trec"] = setting("jsonl", "JSONL, or TREC's six columns.")
    fit: str | None = setting(
        None,
        "Instead of a run, write the weights of these rankers that fit judged queries.",
        metavar="QRELS",
        reads=True,
        group=FITTING,
    )
    folds: str | None = setting(
        None,
        "--fit: cross-validate over this field of the queries; default: ten parts.",
        metavar="FIELD",
        requires="fit",
        group=FITTING,
    )
    held_out: str | None = setting(
        None,
        "--fit: also write the run of each fold, with weights fitted to the others.",
        metavar="FILE",
        requires="fit",
        writes=True,
        group=FITTING,
    )


def rerank(settings: Settings) -> Iterator[Record]:
    """Run records: the k best hits of each query by their scores and by rankers, best first.

    Each query's scores are scaled to 0 … 1 (several runs: their mean), and every ranker adds its
    weight times its score of the hit. Queries come in the order of the runs. A hit that is not in
    the corpus raises, and so does a query that is not among the queries. With `fit`, one record:
    the weights of these rankers with the best nDCG@10 on judged queries.
    """
    from structkit.ranking.fit import fit
    from structkit.ranking.reading import Candidates, reordered, together
    from structkit.scoring.runs import read_run

    weights = settings.chosen
    order = weights.ranking(settings.files)
    run = together([read_run(path) for path in settings.runs])
    candidates = Candidates.read(run, settings.corpus, settings.queries, settings.query_field)
    if settings.fit is None:
        yield from reordered(candidates, order, settings.k)
        return
    yield fit(
        candidates,
        weights,
        order,
        qrels=settings.fit,
        folds=settings.folds,
        held_out=settings.held_out,
        k=settings.k,
    )


def _main(settings: Settings, options: OutputOptions) -> None:
    from structkit.scoring.runs import write_run

    records = rerank(settings)
    if settings.fit is not None:
        write_records(records, options.output)
    else:
        write_run(records, options.output, format=settings.format)


COMMAND = Command(
    rerank,
    Settings,
    _main,
    also=(OutputOptions,),
    reads="`query_id`, `doc_id`, `score`; of documents and queries: `id` and their text",
    writes="`query_id`, `doc_id`, `score`, `rank`; with --fit: `rankers`, `group`, `repeats`",
    examples="""
structkit rerank run.jsonl --corpus functions.jsonl --queries functions.jsonl --for code -k 10
structkit rerank run.jsonl --corpus functions.jsonl --queries functions.jsonl --ranker path-words=1
""",
)
