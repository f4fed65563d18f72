"""The hits of a query in a better order: their scores and what rankers say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from structkit import plugin, registry
from structkit.errors import UserError, unknown
from structkit.ranking.candidates import Candidate, Query
from structkit.records.fields import ABSENT, lookup, plain
from structkit.records.jsonl import Record
from structkit.scoring.runs import Hit
from structkit.search.fusion import Scores, ranked, stretched


@dataclass(frozen=True)
class Ranking:
    """How hits are ordered: rankers with their weights, and what becomes of a group's hits.

    The hits of a `group`, a field with the same value, count `repeats` times as much with each
    better one before them; with 0 only the best is kept.
    """

    rankers: tuple[tuple[plugin.Ranker, float], ...] = ()
    group: str | None = None
    repeats: float = 0.0


# weights are those that `rerank --fit` finds on judged queries
PRESETS: dict[str, tuple[dict[str, float], str | None, float]] = {
    "code": (
        {
            "path-words": 1.0,
            "definitions": 1.0,
            "name-words": 0.25,
            "coherence": 0.25,
            "tests": 1.0,
            "examples": 0.3,
            "vendored": 0.3,
            "generated": 0.3,
            "compat": 0.3,
        },
        "path",
        0.5,
    ),
}


def ranking_of(
    preset: str | None = None,
    named: Mapping[str, float | None] | None = None,
    group: str | None = None,
    repeats: float | None = None,
) -> Ranking:
    """The rankers of a preset, and those that are named beside it with a weight, or with their own.

    `group` and `repeats` go before the preset's.
    """
    weights: dict[str, float | None] = {}
    if preset is not None:
        if preset not in PRESETS:
            raise unknown("preset", preset, PRESETS)
        preset_weights, preset_group, preset_repeats = PRESETS[preset]
        weights.update(preset_weights)
        if group is None:
            group = preset_group
            repeats = preset_repeats if repeats is None else repeats
    weights.update(named or {})
    rankers = []
    for name, weight in weights.items():
        kind = registry.load("ranker", name)
        rankers.append((kind(), kind.weight if weight is None else weight))
    return Ranking(tuple(rankers), group, repeats or 0.0)


def rerank(
    query: Query, hits: Sequence[Hit], records: Mapping[str, Record], ranking: Ranking, k: int
) -> list[Hit]:
    """The k best hits of a query by their stretched scores and what the rankers add, best first.

    `records` has the corpus record of each hit, by id.
    """
    if not hits:
        return []
    scores = stretched({hit.doc_id: hit.score for hit in hits})
    candidates = [Candidate(doc_id, score, records[doc_id]) for doc_id, score in scores.items()]
    total = np.fromiter(scores.values(), float, len(scores))  # (hits,)
    for ranker, weight in ranking.rankers:
        total += weight * ranker.scores(query, candidates)
    summed = dict(zip(scores, total.tolist(), strict=True))
    if ranking.group is not None:
        summed = thinned(summed, records, ranking.group, ranking.repeats)
    best = {hit.doc_id: hit.best for hit in hits}
    return [hit._replace(best=best[hit.doc_id]) for hit in ranked(summed, k)]


def thinned(scores: Scores, records: Mapping[str, Record], group: str, repeats: float) -> Scores:
    """Scores where a hit counts `repeats` times as much for each better one of its group.

    Documents without the field are no group.

    >>> records = {"a": {"path": "x"}, "b": {"path": "x"}, "c": {"path": "y"}}
    >>> thinned({"a": 1.0, "b": 0.8, "c": 0.5}, records, "path", 0.5)
    {'a': 1.0, 'b': 0.4, 'c': 0.5}
    >>> thinned({"a": 1.0, "b": 0.8, "c": 0.5}, records, "path", 0)
    {'a': 1.0, 'c': 0.5}
    """
    before: dict[str, int] = {}
    kept: Scores = {}
    for hit in ranked(scores, len(scores)):
        value = lookup(records[hit.doc_id], group)
        number = 0
        if value is not ABSENT:
            number = before.get(plain(value), 0)
            before[plain(value)] = number + 1
        if repeats or not number:
            score = scores[hit.doc_id]
            # a score below 0 must not rise
            kept[hit.doc_id] = score * repeats**number if score > 0 else score
    return kept


def weight_of(text: str, flag: str = "--ranker") -> tuple[str, float | None]:
    """The name and the weight, if any, that `NAME` or `NAME=WEIGHT` is.

    >>> weight_of("tests=0.3"), weight_of("tests")
    (('tests', 0.3), ('tests', None))
    """
    name, sign, number = text.partition("=")
    if not sign:
        return name, None
    try:
        weight = float(number)
        if not np.isfinite(weight):
            raise ValueError
    except ValueError:
        raise UserError(
            f"{flag} {text}: {number!r} is no weight", "write NAME=0.5", status=2
        ) from None
    return name, weight
