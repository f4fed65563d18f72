"""Fit the weights of rankers to judged queries, and say what they are worth held out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from structkit.errors import UserError, flag
from structkit.progress import say
from structkit.ranking.candidates import Query
from structkit.ranking.fitting import cross_validated, fitted, judged, mean_of, means, tied
from structkit.ranking.reading import Candidates
from structkit.ranking.reranking import Ranking, rerank
from structkit.ranking.weights import Weights
from structkit.records.fields import ABSENT, lookup, plain
from structkit.records.jsonl import Record
from structkit.scoring.judgements import Targets, targets
from structkit.scoring.qrels import read_judgements
from structkit.scoring.runs import Hit, run_records, write_run


def fit(
    candidates: Candidates,
    weights: Weights,
    order: Ranking,
    *,
    qrels: str,
    folds: str | None,
    held_out: str | None,
    k: int,
) -> Record:
    """The weights of these rankers with the best nDCG@10 on judged queries.

    A hit is judged by its id, or as a passage as `score --passages` does: by its `doc_id`,
    otherwise path, and its lines; all relevant judgements have the same gain. `folds` is a field of
    the queries (default: ten parts): means are over its values, and the record has nDCG@10 of the
    queries of each value with weights fitted to the others. The k best hits of each query with
    those weights are written to the file `held_out`.
    """
    if not order.rankers:
        remedy = f"name some with {flag('ranker')} or {flag('for_')}"
        raise UserError(f"{flag('fit')} has no rankers", remedy, status=2)
    relevant = relevant_of(qrels)
    asked = [(query, hits) for query, hits in candidates if relevant.get(query.id)]
    if not asked:
        raise UserError("judges no query of the run", "name the run's own judgements").at(qrels)
    names = [
        f"part {number % 10}" if folds is None else fold(candidates.queries[query.id], folds)
        for number, (query, _) in enumerate(asked)
    ]
    if len(set(names)) < 2:
        remedy = f"name another field with {flag('folds')}"
        raise UserError("all judged queries are in one fold", remedy)
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
    return {
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
        yield from run_records(query.id, rerank(query, hits, records, order, k))


def fold(record: Record, field: str) -> str:
    """What a query has in the field of the folds."""
    value = lookup(record, field)
    if value is ABSENT:
        remedy = f"name another with {flag('folds')}"
        raise UserError(f'query "{record["id"]}" has no field {field}', remedy)
    return plain(value)
