"""The weights of rankers: presets, files of weights, and flags."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from structkit import registry
from structkit.errors import UserError, flag, program
from structkit.ranking.candidates import Ranker
from structkit.ranking.reranking import Ranking
from structkit.records.jsonl import Record
from structkit.records.lines import cannot_read


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
    base = PRESETS[preset] if preset is not None else read(file) if file is not None else Weights()
    every = {**base.rankers, **dict(map(weight_of, rankers))}
    return replace(base, rankers=every, group=base.group if group is None else group)


def read(file: str) -> Weights:
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
