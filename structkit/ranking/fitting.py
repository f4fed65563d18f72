"""Weights of rankers that fit judged queries: coordinate ascent on nDCG@10 itself.

Metzler and Croft, Linear feature-based models for information retrieval (2007). On the
repositories of the published comparison it gains 0.02 nDCG@10 over a logistic regression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from structkit.embeddings.vectors import Floats, Numbers
from structkit.errors import UserError
from structkit.ranking.candidates import Candidate, Query
from structkit.ranking.demotion import Demotion
from structkit.ranking.reranking import Ranking, candidates_of
from structkit.records.jsonl import Record
from structkit.scoring.judgements import Passage, first_met
from structkit.scoring.qrels import Judgement
from structkit.scoring.runs import Hit

GRID = (0.0, 0.25, 0.5, 1.0, 1.5)  # a finer or wider grid overfits the judged queries
START = 0.5
LEAST = 0.001  # the least gain of a change: less is chance
ROUNDS = 4
DEPTH = 10


@dataclass(frozen=True)
class JudgedHits:
    """The hits of a judged query, by descending id, as runs order equal scores.

    `met` are the numbers of the relevant judgements that a hit meets: by its id, or as a passage.
    `most` is the ideal DCG.
    """

    features: Floats  # (hits, 1 + rankers)
    met: Sequence[Set[int]]  # (hits,)
    group: Numbers  # (hits,)
    most: float

    def ndcg(self, weights: Floats, repeats: float) -> float:
        """nDCG@10 of the hits in the order of these weights, as `score` has it of their run."""
        scores = self.features @ weights
        order = _order(scores)
        scores = np.where(scores > 0, scores * repeats ** self._before(order), scores)
        gained = first_met(self.met[hit] for hit in _order(scores)[:DEPTH])
        ranks = [rank for rank, number in enumerate(gained, 1) if number is not None]
        return float((1 / np.log2(np.array(ranks) + 1)).sum() / self.most)

    def _before(self, order: Numbers) -> Numbers:
        """How many hits of its own group precede each hit."""
        groups = self.group[order]
        together = np.argsort(groups, kind="stable")
        first = np.searchsorted(groups[together], groups[together])
        before = np.empty(len(order), np.int64)
        before[order[together]] = np.arange(len(order)) - first
        return before


def _order(scores: Floats) -> Numbers:
    """The places of the scores, highest first, as float32 of runs; equal ones as they stand."""
    return np.argsort(-scores.astype(np.float32), kind="stable")


def judged(
    query: Query,
    hits: Sequence[Hit],
    records: Mapping[str, Record],
    ranking: Ranking,
    relevant: Sequence[Judgement],
) -> JudgedHits:
    """The features of the hits of a query, from search and rankers, and which are relevant."""
    candidates = candidates_of(hits, records)
    columns = [np.array([each.score for each in candidates])]
    columns += [ranker.scores(query, candidates) for ranker, _ in ranking.rankers]
    order = sorted(range(len(candidates)), key=lambda place: candidates[place].doc_id, reverse=True)
    candidates = [candidates[place] for place in order]
    groups: dict[str, int] = {}
    of_hits = [ranking.group_of(each.doc_id, each.record) for each in candidates]
    ideal = min(DEPTH, len(relevant))
    return JudgedHits(
        np.column_stack(columns)[order],
        [_met(each, relevant) for each in candidates],
        np.array([groups.setdefault(each, len(groups)) for each in of_hits]),
        float((1 / np.log2(np.arange(ideal) + 2)).sum()),
    )


def _met(candidate: Candidate, relevant: Sequence[Judgement]) -> set[int]:
    """The numbers of the judgements of a hit, or of the document whose passage it is."""
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


Mean = Callable[[Floats], float]


def mean_of(queries: Sequence[JudgedHits], folds: Sequence[str], repeats: float) -> Mean:
    """Mean nDCG@10 by weights: over the queries of a fold, then over folds."""
    numbers = {fold: number for number, fold in enumerate(dict.fromkeys(folds))}
    fold = np.array([numbers[each] for each in folds])
    counts = np.bincount(fold)

    def mean(weights: Floats) -> float:
        values = [query.ndcg(weights, repeats) for query in queries]
        return float((np.bincount(fold, values) / counts).mean())

    return mean


def fitted(mean: Mean, tied: Sequence[int]) -> Floats:
    """The weights (1 + rankers,) of the best mean that one change at a time finds; the first is 1.

    Rankers with the same number in `tied` have one weight.
    """
    of_ranker = np.array([-1, *tied])
    weights = np.where(of_ranker < 0, 1.0, START)
    best = mean(weights)
    for _ in range(ROUNDS):
        before = best
        for number in dict.fromkeys(tied):
            for value in GRID:
                changed = np.where(of_ranker == number, value, weights)
                if (changed != weights).any() and (reached := mean(changed)) > best + LEAST:
                    weights, best = changed, reached
        if best == before:
            break
    return weights


def tied(ranking: Ranking) -> list[int]:
    """The number of each ranker's weight; those that demote files share one: few queries tell."""
    kinds = [Demotion if isinstance(each, Demotion) else type(each) for each, _ in ranking.rankers]
    return [kinds.index(kind) for kind in kinds]


def cross_validated(
    queries: Sequence[JudgedHits], folds: Sequence[str], repeats: float, tied: Sequence[int]
) -> dict[str, Floats]:
    """For each fold, the weights fitted to the queries of the others."""
    found: dict[str, Floats] = {}
    for fold in dict.fromkeys(folds):
        others = [(query, name) for query, name in zip(queries, folds, strict=True) if name != fold]
        found[fold] = fitted(mean_of(*_columns(others), repeats), tied)
    return found


def means(
    queries: Sequence[JudgedHits],
    folds: Sequence[str],
    weights: Mapping[str, Floats],
    repeats: float,
) -> dict[str, float]:
    """Mean nDCG@10 of the queries of each fold, with its weights."""
    values: dict[str, list[float]] = {fold: [] for fold in weights}
    for query, fold in zip(queries, folds, strict=True):
        values[fold].append(query.ndcg(weights[fold], repeats))
    return {fold: float(np.mean(each)) for fold, each in values.items()}


def _columns(pairs: Iterable[tuple[JudgedHits, str]]) -> tuple[list[JudgedHits], list[str]]:
    queries, folds = [], []
    for query, fold in pairs:
        queries.append(query)
        folds.append(fold)
    return queries, folds
