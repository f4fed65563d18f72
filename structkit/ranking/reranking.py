"""Reranking the hits of a query, by their scores and those of rankers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from structkit.ranking.candidates import Candidate, Query, Ranker
from structkit.records.fields import ABSENT, lookup, plain
from structkit.records.jsonl import Record
from structkit.scoring.runs import Hit
from structkit.scoring.runs import ranking as by_score
from structkit.searching.fusion import Scores, ranked, stretched


@dataclass(frozen=True)
class Ranking:
    """How hits are ordered: rankers with their weights, and how hits of a group are treated.

    Hits with the same value in the field `group` are a group. A hit's score is multiplied by
    `repeats` for each better one of its group; with 0 only the best is kept.
    """

    rankers: tuple[tuple[Ranker, float], ...] = ()
    group: str | None = None
    repeats: float = 0.0

    def group_of(self, doc_id: str, record: Record) -> str:
        """What the hits of a group have in common; a hit without the field is a group alone."""
        value = ABSENT if self.group is None else lookup(record, self.group)
        return f"id {doc_id}" if value is ABSENT else f"value {plain(value)}"

    def weighing(self, weights: Sequence[float]) -> Ranking:
        """The same rankers with other weights."""
        rankers = (
            (ranker, weight) for (ranker, _), weight in zip(self.rankers, weights, strict=True)
        )
        return replace(self, rankers=tuple(rankers))


def candidates_of(hits: Sequence[Hit], records: Mapping[str, Record]) -> list[Candidate]:
    """The hits of a query, best first, their scores scaled to 0 … 1."""
    scores = stretched({hit.doc_id: hit.score for hit in hits})
    return [Candidate(doc_id, scores[doc_id], records[doc_id]) for doc_id in by_score(scores)]


def rerank(
    query: Query, hits: Sequence[Hit], records: Mapping[str, Record], ranking: Ranking, k: int
) -> list[Hit]:
    """The k best hits of a query by their scaled scores and what the rankers add, best first.

    `records` has the corpus record of each hit, by id.
    """
    if not hits:
        return []
    candidates = candidates_of(hits, records)
    total = np.array([each.score for each in candidates])  # (hits,)
    for ranker, weight in ranking.rankers:
        total += weight * ranker.scores(query, candidates)
    summed = dict(zip((each.doc_id for each in candidates), total.tolist(), strict=True))
    groups = {each.doc_id: ranking.group_of(each.doc_id, each.record) for each in candidates}
    best = {hit.doc_id: hit.best for hit in hits}
    thin = thinned(summed, groups, ranking.repeats)
    return [hit._replace(best=best[hit.doc_id]) for hit in ranked(thin, k)]


def thinned(scores: Scores, groups: Mapping[str, str], repeats: float) -> Scores:
    """Scores, multiplied by `repeats` for each better hit of the same group.

    >>> thinned({"a": 1.0, "b": 0.8, "c": 0.5}, {"a": "x", "b": "x", "c": "y"}, 0.5)
    {'a': 1.0, 'b': 0.4, 'c': 0.5}
    >>> thinned({"a": 1.0, "b": 0.8, "c": 0.5}, {"a": "x", "b": "x", "c": "y"}, 0)
    {'a': 1.0, 'c': 0.5}
    """
    before: dict[str, int] = {}
    kept: Scores = {}
    for doc_id in by_score(scores):
        number = before.get(groups[doc_id], 0)
        before[groups[doc_id]] = number + 1
        if repeats or not number:
            score = scores[doc_id]
            kept[doc_id] = score * repeats**number if score > 0 else score  # it must not rise
    return kept
