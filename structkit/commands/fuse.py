"""Fuse several runs into one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from structkit.command import Command
from structkit.errors import UserError, flag
from structkit.ranking.options import RankingOptions
from structkit.records.jsonl import Record
from structkit.records.stream import OutputOptions
from structkit.settings import setting

if TYPE_CHECKING:
    from structkit.scoring.runs import Run
    from structkit.searching.fusion import Scores


@dataclass(frozen=True, kw_only=True)
class Settings(RankingOptions):
    """Fuse several runs into one, by reciprocal ranks or a weighted sum of scores."""

    runs: tuple[str, ...] = setting(
        ..., "Run files, JSONL or TREC.", argument=True, metavar="RUNS", reads=True
    )
    method: Literal["rrf", "weighted", "merge"] = setting(
        "rrf",
        "Reciprocal ranks, or a weighted sum of scaled scores; merge: runs of parts of a corpus, "
        "whose scores stay.",
    )
    weight: tuple[float, ...] = setting((), "Weight of a run; give one for each.")
    k: int = setting(100, "Documents per query.", short="-k", low=1)
    rrf_k: int = setting(60, "rrf: added to every rank.", low=0)
    corpus: tuple[str, ...] = setting(
        (), "With rankers: the records that were searched.", metavar="FILE", reads=True
    )
    queries: tuple[str, ...] = setting(
        (), "With rankers: the queries that were asked.", metavar="FILE", reads=True
    )
    format: Literal["jsonl", "trec"] = setting("jsonl", "JSONL, or TREC's six columns.")

    def __post_init__(self) -> None:
        if self.weight and len(self.weight) != len(self.runs):
            raise UserError(
                f"{flag('weight')} gives {len(self.weight)} weights for {len(self.runs)} runs",
                "give one for each run",
                status=2,
            )
        if self.method == "merge" and self.weight:
            problem = f"{flag('method', 'merge')} takes no {flag('weight')}"
            raise UserError(problem, "leave it out", status=2)
        if self.ranks and not (self.corpus and self.queries):
            raise UserError(
                f"{self.ranks[0]} needs {flag('queries' if self.corpus else 'corpus')}",
                "name the records that were searched, and the queries that were asked",
                status=2,
            )


def fuse(settings: Settings) -> Iterator[Record]:
    """Run records: the k best documents of each query by all runs together, best first.

    `rrf` adds weight / (rrf_k + rank) over the runs that found the document (Cormack, Clarke and
    Büttcher, SIGIR 2009). `weighted` adds weight * score, with each query's scores scaled to
    0 … 1 (all equal: 1). `merge` keeps the scores: runs of the same queries on parts of a corpus
    become that on the whole; of a document in several, the best score counts. The weights are 1
    unless given, one for each run. Queries come in the order of their first appearance; equal
    scores are ordered by descending document id. With rankers, the fused run is reranked as by
    `rerank`.
    """
    from structkit.ranking.reading import Candidates, reordered
    from structkit.scoring.runs import read_run, run_records
    from structkit.searching.fusion import ranked, reciprocal_ranks, stretched

    def points(documents: Scores) -> Scores:
        if settings.method == "rrf":
            return reciprocal_ranks(documents, settings.rrf_k)
        return stretched(documents)

    read = [read_run(path) for path in settings.runs]
    shares = settings.weight or [1.0] * len(read)
    together = _merged(read) if settings.method == "merge" else _fused(read, shares, points)
    if settings.ranks:
        candidates = Candidates.read(dict(together), settings.corpus, settings.queries)
        order = settings.chosen.ranking(settings.files)
        yield from reordered(candidates, order, settings.k)
        return
    for query_id, scores in together:
        try:
            hits = ranked(scores, settings.k)
        except UserError as error:
            raise error.at(f'query "{query_id}"') from None
        yield from run_records(query_id, hits)


def _merged(runs: Sequence[Run]) -> Iterator[tuple[str, Scores]]:
    from structkit.searching.fusion import merged

    for query_id in dict.fromkeys(query_id for run in runs for query_id in run):
        yield query_id, merged(run[query_id] for run in runs if query_id in run)


def _fused(
    runs: Sequence[Run], weights: Sequence[float], points: Callable[[Scores], Scores]
) -> Iterator[tuple[str, Scores]]:
    from structkit.searching.fusion import fused

    for query_id in dict.fromkeys(query_id for run in runs for query_id in run):
        rankings = [run[query_id] for run in runs if query_id in run]
        shares = [weight for run, weight in zip(runs, weights, strict=True) if query_id in run]
        yield query_id, fused(rankings, shares, points)


def _main(settings: Settings, options: OutputOptions) -> None:
    from structkit.scoring.runs import write_run

    write_run(fuse(settings), options.output, format=settings.format)


COMMAND = Command(
    fuse,
    Settings,
    _main,
    also=(OutputOptions,),
    reads="`query_id`, `doc_id`, `score`",
    writes="`query_id`, `doc_id`, `score`, `rank`",
    examples="""
structkit fuse dense.jsonl bm25.jsonl -o fused.jsonl
structkit fuse part-0.jsonl part-1.jsonl --method merge -o merged.jsonl
""",
)
