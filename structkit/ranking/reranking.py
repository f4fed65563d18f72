"""Reranking the hits of a query by their scores and those of rankers, which have weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import orjson

from structkit import registry
from structkit.errors import UserError, flag, program
from structkit.ranking.candidates import Candidate, Query, Ranker
from structkit.records.fields import ABSENT, lookup, plain
from structkit.records.jsonl import Record
from structkit.records.lines import cannot_read
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
    kept = thin(summed, groups, ranking.repeats)
    return [hit._replace(best=best[hit.doc_id]) for hit in ranked(kept, k)]


def thin(scores: Scores, groups: Mapping[str, str], repeats: float) -> Scores:
    """Scores, multiplied by `repeats` for each better hit of the same group.

    >>> thin({"a": 1.0, "b": 0.8, "c": 0.5}, {"a": "x", "b": "x", "c": "y"}, 0.5)
    {'a': 1.0, 'b': 0.4, 'c': 0.5}
    >>> thin({"a": 1.0, "b": 0.8, "c": 0.5}, {"a": "x", "b": "x", "c": "y"}, 0)
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


@dataclass(frozen=True)
class Weights:
    """Weights of rankers by name, None for a ranker's own, and what else `Ranking` has."""

    rankers: Mapping[str, float | None] = field(default_factory=dict)
    group: str | None = None
    repeats: float = 0.0

    def ranking(self, flags: Mapping[str, Any] | None = None) -> Ranking:
        """The rankers, each with those flags that it takes."""
        given, rankers, taken = flags or {}, [], set[str]()
        for name, weight in self.rankers.items():
            kind: type[Ranker] = registry.load("ranker", name)
            own = {each: value for each, value in given.items() if registry.takes(kind, each)}
            taken |= own.keys()
            ranker = registry.configured(kind, registry.canonical("ranker", name), own)
            rankers.append((ranker, kind.weight if weight is None else weight))
        for name in given:
            if name not in taken:
                remedy = f"add {flag('ranker', 'maxsim')}"
                raise UserError(f"no ranker takes {flag(name)}", remedy, status=2)
        return Ranking(tuple(rankers), self.group, self.repeats)

    def record(self) -> Record:
        """The weights as `rerank --fit` writes them."""
        return {"rankers": dict(self.rankers), "group": self.group, "repeats": self.repeats}


# fitted by `rerank --fit` on 13 repositories of the published comparison, with BM25 and a table of
# static embeddings; leaving out each repository in turn, all 13 fits find these weights, so that
# the table's nDCG@10 of `make repositories`, 0.88, is the one held out, too (BM25 alone 0.86); it
# showed that older versions and headers were missing, so what these add there is not held out
PRESETS = {
    "code": Weights(
        {
            "path-words": 1.0,
            "definitions": 1.0,
            "name-words": 0.5,
            "coherence": 0.5,
            "path-kinds": 1.0,
        },
        "path",
        0.5,
    ),
}


def choose(
    preset: str | None = None,
    file: str | None = None,
    rankers: Sequence[str] = (),
    group: str | None = None,
) -> Weights:
    """The weights of a preset or a file, changed by what is named besides: `NAME=WEIGHT`."""
    base = Weights() if preset is None else PRESETS[preset]
    base = base if file is None else read_weights(file)
    every = {**base.rankers, **dict(map(weight_of, rankers))}
    return replace(base, rankers=every, group=base.group if group is None else group)


def read_weights(file: str) -> Weights:
    """The weights that `rerank --fit` wrote to a file."""
    try:
        with open(file, "rb") as lines:
            record = orjson.loads(lines.read())
        rankers = {str(name): float(weight) for name, weight in record["rankers"].items()}
        group, repeats = record.get("group"), float(record.get("repeats", 0))
        fits = all(map(math.isfinite, rankers.values())) and 0 <= repeats <= 1
    except OSError as error:
        raise cannot_read(error).at(file) from None
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
        fits = False
    if not fits or not isinstance(group, str | None):
        problem = 'holds no weights {"rankers": {NAME: WEIGHT}, "group": FIELD, "repeats": 0 … 1}'
        remedy = f"write the file with {program('rerank')} {flag('fit')}"
        raise UserError(problem, remedy).at(file)
    return Weights(rankers, group, repeats)


def weight_of(text: str) -> tuple[str, float | None]:
    """The name and the weight, if any, in `NAME` or `NAME=WEIGHT`.

    >>> weight_of("coherence=0.3"), weight_of("coherence")
    (('coherence', 0.3), ('coherence', None))
    """
    name, sign, number = text.partition("=")
    try:
        weight = float(number) if sign else None
    except ValueError:
        weight = math.nan
    if weight is not None and not math.isfinite(weight):
        problem = f"{flag('ranker', text)}: {number!r} is not a weight"
        raise UserError(problem, "write NAME=0.5", status=2)
    return name, weight
