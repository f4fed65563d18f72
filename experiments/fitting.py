"""Weights of rankers that fit judged queries: coordinate ascent on nDCG@10 itself.

    python -m experiments.fitting RUN --corpus FILE --queries FILE --qrels FILE [--for code]
        [--ranker NAME …] [--folds FIELD] [--held-out RUN] -o WEIGHTS.json

The presets of `rerank --for` were fitted so. Metzler and Croft, Linear feature-based models for
information retrieval (2007). On the repositories of the published comparison it gains 0.02 nDCG@10
over a logistic regression.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, product
from pathlib import Path

import numpy as np

from structkit.embeddings.vectors import Floats, IntArray
from structkit.errors import UserError
from structkit.progress import say
from structkit.ranking.reranking import (
    Candidate,
    Candidates,
    Query,
    Ranking,
    Weights,
    candidates_of,
    choose,
    rerank,
)
from structkit.records.fields import ABSENT, flag_text, lookup
from structkit.records.jsonl import Record
from structkit.records.output import write_json, write_records
from structkit.scoring.judgements import Passage, first_gains, judgements_by_query
from structkit.scoring.qrels import Judgement, read_judgements
from structkit.scoring.runs import read_run
from structkit.searching.hits import Hit, run_records

GRID = (0.0, 0.25, 0.5, 1.0, 1.5)  # a finer or wider grid overfits the judged queries
START = 0.5
SMALLEST_GAIN = 0.001  # of a change: less is chance
ROUNDS = 4
DEPTH = 10


@dataclass(frozen=True)
class JudgedHits:
    """The hits of a judged query, by descending id, as runs order equal scores.

    `met` are the numbers of the relevant judgements that a hit meets: by its id, or as a passage.
    """

    fold: str
    features: Floats  # (hits, 1 + rankers)
    met: Sequence[Set[int]]  # (hits,)
    file: IntArray  # (hits,)
    repeats: float  # factor of a hit for each better one of its file
    ideal: float  # the highest DCG

    def ndcg(self, weights: Floats) -> float:
        """Return nDCG@10 of the hits in the order of these weights, as `score` does."""
        scores = self.features @ weights
        factors = self.repeats ** self._before(_order(scores))
        order = _order(np.where(scores > 0, scores * factors, scores))
        gained = first_gains(self.met[hit] for hit in order[:DEPTH])
        ranks = [rank for rank, number in enumerate(gained, 1) if number is not None]
        return float((1 / np.log2(np.array(ranks) + 1)).sum() / self.ideal)

    def _before(self, order: IntArray) -> IntArray:
        """Count the hits of its own file before each hit."""
        files = self.file[order]
        together = np.argsort(files, kind="stable")
        first = np.searchsorted(files[together], files[together])
        before = np.empty(len(order), np.int64)
        before[order[together]] = np.arange(len(order)) - first
        return before


def _order(scores: Floats) -> IntArray:
    """Return the places of the scores, highest first, as float32; ties keep their order."""
    return np.argsort(-scores.astype(np.float32), kind="stable")


def judge(
    query: Query,
    hits: Sequence[Hit],
    records: Mapping[str, Record],
    ranking: Ranking,
    relevant: Sequence[Judgement],
    fold: str,
) -> JudgedHits:
    """Return the features of a query's hits, and which hits are relevant."""
    candidates = candidates_of(hits, records)
    columns = [np.array([each.score for each in candidates])]
    columns += [np.array(ranker.scores(query, candidates)) for ranker, _ in ranking.rankers]
    order = sorted(range(len(candidates)), key=lambda place: candidates[place].doc_id, reverse=True)
    candidates = [candidates[place] for place in order]
    files: dict[str, int] = {}
    ideal = min(DEPTH, len(relevant))
    return JudgedHits(
        fold,
        np.column_stack(columns)[order],
        [_met(each, relevant) for each in candidates],
        np.array([files.setdefault(each.file, len(files)) for each in candidates]),
        ranking.repeats,
        float((1 / np.log2(np.arange(ideal) + 2)).sum()),
    )


def _met(candidate: Candidate, relevant: Sequence[Judgement]) -> set[int]:
    """Return the numbers of the judgements that a hit, or its passage, meets."""
    try:
        passage = Passage.of(candidate.record)
    except UserError as error:
        raise error.at(f'document "{candidate.doc_id}"') from None
    itself = Passage(candidate.doc_id, passage and passage.lines)
    return {
        number
        for number, target in enumerate(relevant)
        if itself.meets(target) or (passage and passage.meets(target))
    }


def means(queries: Sequence[JudgedHits], weights: Mapping[str, Floats]) -> dict[str, float]:
    """Return the mean nDCG@10 of the queries of each fold, with its weights."""
    values: dict[str, list[float]] = {}
    for query in queries:
        values.setdefault(query.fold, []).append(query.ndcg(weights[query.fold]))
    return {fold: float(np.mean(each)) for fold, each in values.items()}


def mean(queries: Sequence[JudgedHits], weights: Floats) -> float:
    """Return the mean nDCG@10 with some weights: over a fold's queries, then over folds."""
    every = dict.fromkeys((query.fold for query in queries), weights)
    return float(np.mean(list(means(queries, every).values())))


def best_weights(queries: Sequence[JudgedHits]) -> Floats:
    """Return the weights (1 + rankers,), the first 1, that single changes find best."""
    weights = np.full(queries[0].features.shape[1], START)
    weights[0] = 1.0
    best = mean(queries, weights)
    for _ in range(ROUNDS):
        before = best
        for number, value in product(range(1, len(weights)), GRID):
            changed = weights.copy()
            changed[number] = value
            if changed[number] != weights[number]:
                reached = mean(queries, changed)
                if reached > best + SMALLEST_GAIN:
                    weights, best = changed, reached
        if best == before:
            break
    return weights


def fit(
    candidates: Candidates,
    weights: Weights,
    *,
    qrels: str,
    folds: str | None = None,
    held_out: str | None = None,
    k: int = 100,
) -> Record:
    """Fit the weights of these rankers to the best nDCG@10 on judged queries.

    A hit is judged by its id, or as a passage as `score --passages` does: by its `doc_id`,
    otherwise path, and its lines; all relevant judgements have the same gain. `folds` is a field of
    the queries, or there are ten by the queries' numbers: means are over its values, and the
    record has nDCG@10 of the queries of each value with weights fitted to the others. The k best
    hits of each query with those weights are written to the file `held_out`.
    """
    order = weights.ranking()
    best_first = sorted(read_judgements(qrels), key=lambda each: -each.relevance)
    relevant = judgements_by_query(each for each in best_first if each.relevance > 0)
    records = candidates.records
    asked = [(query, hits) for query, hits in candidates if query.id in relevant]
    if not asked:
        raise UserError("judges no query of the run", "name the run's own judgements").at(qrels)
    parts = [
        _value(candidates.queries[query.id], folds) if folds else f"part {number % 10}"
        for number, (query, _) in enumerate(asked)
    ]
    queries = [
        judge(query, hits, records, order, relevant[query.id], part)
        for (query, hits), part in zip(asked, parts, strict=True)
    ]
    if len(set(parts)) < 2:
        raise UserError("all judged queries are in one fold", "name another field with --folds")
    best = best_weights(queries)
    others = {
        part: best_weights([query for query in queries if query.fold != part])
        for part in dict.fromkeys(parts)
    }
    of_folds = means(queries, others)
    rankers = dict(zip(weights.rankers, best[1:].tolist(), strict=True))
    before = mean(queries, np.array([1.0, *np.zeros(len(rankers))]))
    fitted, validated = mean(queries, best), float(np.mean(list(of_folds.values())))
    say(f"nDCG@10 {before:.4f} becomes {fitted:.4f}, cross-validated {validated:.4f}")
    if held_out is not None:
        named = [ranker for ranker, _ in order.rankers]
        orders = {
            fold: replace(order, rankers=tuple(zip(named, each[1:].tolist(), strict=True)))
            for fold, each in others.items()
        }
        found = (
            run_records(query.id, rerank(query, hits, records, orders[part], k))
            for (query, hits), part in zip(asked, parts, strict=True)
        )
        write_records(chain.from_iterable(found), held_out)
    return {
        "rankers": rankers,
        "repeats": weights.repeats,
        "queries": len(asked),
        "nDCG@10": {"search": before, "fitted": fitted, "cross_validated": validated},
        "folds": of_folds,
    }


def _value(query: Record, field: str) -> str:
    """Return the value of a query's field for folds."""
    value = lookup(query, field)
    if value is ABSENT:
        raise UserError(f'query "{query["id"]}" has no field {field}', "name another with --folds")
    return flag_text(value)


def main(words: Sequence[str] | None = None) -> None:
    """Fit the weights of the command line's rankers, and write them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run")
    for name in ("corpus", "queries", "qrels"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--for", dest="preset")
    parser.add_argument("--ranker", nargs="*", default=())
    parser.add_argument("--folds")
    parser.add_argument("--held-out")
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args(words)
    candidates = Candidates.read(read_run(given.run), [given.corpus], [given.queries])
    weights = choose(given.preset, given.ranker)
    others = {"folds": given.folds, "held_out": given.held_out}
    write_json(given.output, fit(candidates, weights, qrels=given.qrels, **others))


if __name__ == "__main__":
    main()
