"""Fuse several runs into one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from structkit.errors import UserError, unknown
from structkit.ranking.reading import Candidates, reordered
from structkit.ranking.weights import Weights
from structkit.records.jsonl import Record
from structkit.scoring.runs import Run, read_run, run_records
from structkit.searching.fusion import (
    METHODS,
    Scores,
    fused,
    merged,
    ranked,
    reciprocal_ranks,
    stretched,
)


def fuse(
    runs: Sequence[str],
    *,
    method: str = "rrf",
    weights: Sequence[float] | None = None,
    k: int = 100,
    rrf_k: int = 60,
    order: Weights | None = None,
    flags: dict[str, Any] | None = None,
    corpus: Sequence[str] | None = None,
    queries: Sequence[str] | None = None,
) -> Iterator[Record]:
    """Run records: the k best documents of each query by all runs together, best first.

    `rrf` adds weight / (rrf_k + rank) over the runs that found the document (Cormack, Clarke and
    Büttcher, SIGIR 2009). `weighted` adds weight * score, with each query's scores scaled to
    0 … 1 (all equal: 1). `merge` keeps the scores: runs of the same queries on parts of a corpus
    become that on the whole; of a document in several, the best score counts. The weights are 1
    unless given, one for each run. Queries come in the order of their first appearance; equal
    scores are ordered by descending document id. With rankers in `order`, the fused run is
    reranked as by `rerank`.
    """
    if method not in METHODS:
        raise unknown("fusion method", method, METHODS)
    if k < 1 or rrf_k < 0:
        raise UserError(f"--k {k} --rrf-k {rrf_k}: too small", "the defaults: 100, 60", status=2)
    shares = [1.0] * len(runs) if weights is None else list(weights)
    if len(shares) != len(runs) or not all(map(math.isfinite, shares)):
        raise UserError(
            f"--weight gives {len(shares)} weights for {len(runs)} runs",
            "give one finite number for each run",
            status=2,
        )

    if method == "merge" and weights is not None:
        raise UserError("--method merge takes no --weight", "leave it out", status=2)

    def points(documents: Scores) -> Scores:
        return reciprocal_ranks(documents, rrf_k) if method == "rrf" else stretched(documents)

    read = [read_run(path) for path in runs]
    together = _merged(read) if method == "merge" else _fused(read, shares, points)
    order = order or Weights()
    if order != Weights():
        if not corpus or not queries:
            missing = "--queries" if corpus else "--corpus"
            raise UserError(
                f"--ranker, --for, --weights, --group and --repeats need {missing}",
                "name the records that were searched, and the queries that were asked",
                status=2,
            )
        candidates = Candidates.read(dict(together), corpus, queries)
        yield from reordered(candidates, order.ranking(flags), k)
        return
    for query_id, scores in together:
        try:
            hits = ranked(scores, k)
        except UserError as error:
            raise error.at(f'query "{query_id}"') from None
        yield from run_records(query_id, hits)


def _merged(runs: Sequence[Run]) -> Iterator[tuple[str, Scores]]:
    for query_id in dict.fromkeys(query_id for run in runs for query_id in run):
        yield query_id, merged(run[query_id] for run in runs if query_id in run)


def _fused(
    runs: Sequence[Run], weights: Sequence[float], points: Callable[[Scores], Scores]
) -> Iterator[tuple[str, Scores]]:
    for query_id in dict.fromkeys(query_id for run in runs for query_id in run):
        rankings = [run[query_id] for run in runs if query_id in run]
        shares = [weight for run, weight in zip(runs, weights, strict=True) if query_id in run]
        yield query_id, fused(rankings, shares, points)
