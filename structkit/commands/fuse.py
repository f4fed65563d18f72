"""Make one run of several."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from structkit.errors import UserError, unknown
from structkit.records.jsonl import Record
from structkit.scoring.runs import Hit, Run, ranking, read_run, run_records

METHODS = ("rrf", "weighted")


def fuse(
    runs: Sequence[str],
    *,
    method: str = "rrf",
    weights: Sequence[float] | None = None,
    k: int = 100,
    rrf_k: int = 60,
) -> Iterator[Record]:
    """Run records: the k best documents of each query by all runs together, best first.

    `rrf` adds weight / (rrf_k + rank) over the runs that found the document (Cormack, Clarke and
    Büttcher, SIGIR 2009). `weighted` adds weight * score, with each query's scores stretched to
    0 … 1 (all equal: 1). The weights are 1 unless given, one for each run. Queries come in the
    order of their first appearance; equal scores are ordered by descending document id.
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

    def points(documents: dict[str, float]) -> dict[str, float]:
        return reciprocal_ranks(documents, rrf_k) if method == "rrf" else stretched(documents)

    for query_id, scores in _fused([read_run(path) for path in runs], shares, points).items():
        # rounded as trec_eval rounds them, so that scores and ranks tell the same order
        with np.errstate(over="ignore"):
            best = [(doc_id, float(np.float32(scores[doc_id]))) for doc_id in ranking(scores)[:k]]
        if not all(math.isfinite(score) for _, score in best):
            raise UserError(
                f'the fused scores of query "{query_id}" are beyond float32', "lower --weight"
            )
        ranked = [Hit(*each) for each in best]
        yield from run_records(query_id, ranked)


def _fused(
    runs: Sequence[Run],
    weights: Sequence[float],
    points: Callable[[dict[str, float]], dict[str, float]],
) -> Run:
    fused: Run = {}
    for run, weight in zip(runs, weights, strict=True):
        for query_id, documents in run.items():
            scores = fused.setdefault(query_id, {})
            for doc_id, value in points(documents).items():
                scores[doc_id] = scores.get(doc_id, 0.0) + weight * value
    return fused


def reciprocal_ranks(documents: dict[str, float], rrf_k: int) -> dict[str, float]:
    """1 / (rrf_k + rank) of each document.

    >>> reciprocal_ranks({"a": 0.1, "b": 0.9}, 1)
    {'b': 0.5, 'a': 0.3333333333333333}
    """
    return {doc_id: 1 / (rrf_k + rank) for rank, doc_id in enumerate(ranking(documents), 1)}


def stretched(documents: dict[str, float]) -> dict[str, float]:
    """The scores of one query moved to 0 … 1.

    >>> stretched({"a": 2.0, "b": 4.0, "c": 3.0})
    {'a': 0.0, 'b': 1.0, 'c': 0.5}
    """
    low, high = min(documents.values()), max(documents.values())
    if low == high:  # a document found alone shall not count as one that was not found
        return dict.fromkeys(documents, 1.0)
    if math.isinf(high - low):  # halves, where the scores are as far apart as floats can be
        return stretched({doc_id: score / 2 for doc_id, score in documents.items()})
    return {doc_id: (score - low) / (high - low) for doc_id, score in documents.items()}
