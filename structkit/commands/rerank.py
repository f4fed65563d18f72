"""Rerank the hits of runs, or fit the weights of the rankers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from structkit.errors import UserError
from structkit.progress import say
from structkit.ranking.candidates import Query
from structkit.ranking.fitting import cross_validated, fitted, judged, mean_of, means, tied
from structkit.ranking.reading import Candidates, reordered, together
from structkit.ranking.reranking import Ranking
from structkit.ranking.reranking import rerank as best_hits
from structkit.ranking.weights import Weights
from structkit.records.fields import ABSENT, lookup, plain
from structkit.records.jsonl import Record
from structkit.scoring.passages import Targets, targets
from structkit.scoring.qrels import read_judgements
from structkit.scoring.runs import Hit, read_run, run_records, write_run


def rerank(
    runs: Sequence[str],
    *,
    corpus: Sequence[str],
    queries: Sequence[str],
    weights: Weights,
    flags: dict[str, Any] | None = None,
    query_field: str | None = None,
    k: int = 100,
) -> Iterator[Record]:
    """Run records: the k best hits of each query by their scores and by rankers, best first.

    Each query's scores are scaled to 0 … 1 (several runs: their mean), and every ranker adds its
    weight times its score of the hit. Queries come in the order of the runs. A hit that is not in
    the corpus raises, and so does a query that is not among the queries.
    """
    order = weights.ranking(flags)
    candidates = Candidates.read(
        together([read_run(path) for path in runs]), corpus, queries, query_field
    )
    yield from reordered(candidates, order, k)


def fit(
    runs: Sequence[str],
    *,
    qrels: str,
    corpus: Sequence[str],
    queries: Sequence[str],
    weights: Weights,
    folds: str | None = None,
    flags: dict[str, Any] | None = None,
    query_field: str | None = None,
    held_out: str | None = None,
    k: int = 100,
) -> Iterator[Record]:
    """One record: the weights of these rankers with the best nDCG@10 on judged queries.

    A hit is judged by its id, or as a passage as `score --passages` does: by its `doc_id`,
    otherwise path, and its lines; all relevant judgements have the same gain. `folds` is a field of
    the queries (default: ten parts): means are over its values, and the record has nDCG@10 of the
    queries of each value with weights fitted to the others. The k best hits of each query with
    those weights are written to the file `held_out`.
    """
    order = weights.ranking(flags)
    if not order.rankers:
        raise UserError("--fit has no rankers", "name some with --ranker or --for", status=2)
    candidates = Candidates.read(
        together([read_run(path) for path in runs]), corpus, queries, query_field
    )
    relevant = relevant_of(qrels)
    asked = [(query, hits) for query, hits in candidates if relevant.get(query.id)]
    if not asked:
        raise UserError("judges no query of the run", "name the run's own judgements").at(qrels)
    names = [
        f"part {number % 10}" if folds is None else fold(candidates.queries[query.id], folds)
        for number, (query, _) in enumerate(asked)
    ]
    if len(set(names)) < 2:
        raise UserError("all judged queries are in one fold", "name another field with --folds")
    features = [
        judged(query, hits, candidates.records, order, relevant[query.id]) for query, hits in asked
    ]
    mean, together_ = mean_of(features, names, order.repeats), tied(order)
    best = fitted(mean, together_)
    others = cross_validated(features, names, order.repeats, together_)
    of_folds = means(features, names, others, order.repeats)
    rankers = dict(zip(weights.rankers, best[1:].tolist(), strict=True))
    before = np.array([1.0, *np.zeros(len(rankers))])
    value = float(np.mean(list(of_folds.values())))
    say(f"nDCG@10 {mean(before):.4f} becomes {mean(best):.4f}, cross-validated {value:.4f}")
    if held_out is not None:
        orders = {name: order.weighing(each[1:].tolist()) for name, each in others.items()}
        hits_of = zip(asked, (orders[name] for name in names), strict=True)
        write_run(ordered(hits_of, candidates.records, k), held_out)
    yield {
        **replace(weights, rankers=rankers).record(),
        "queries": len(asked),
        "nDCG@10": {"search": mean(before), "fitted": mean(best), "cross_validated": value},
        "folds": of_folds,
    }


def relevant_of(qrels: str) -> Targets:
    """The judgements of each judged query that say relevant, the most relevant first."""
    best_first = sorted(read_judgements(qrels), key=lambda each: -each.relevance)
    return targets(each for each in best_first if each.relevance > 0)


def ordered(
    asked: Iterable[tuple[tuple[Query, list[Hit]], Ranking]], records: Mapping[str, Record], k: int
) -> Iterator[Record]:
    """Run records of queries, each query with its own order."""
    for (query, hits), order in asked:
        yield from run_records(query.id, best_hits(query, hits, records, order, k))


def fold(record: Record, field: str) -> str:
    """What a query has in the field of the folds."""
    value = lookup(record, field)
    if value is ABSENT:
        raise UserError(f'query "{record["id"]}" has no field {field}', "name another with --folds")
    return plain(value)
