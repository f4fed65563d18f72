"""Reranking of a query's hits by their scores and the weighted scores of rankers.

Tests: tests/ranking/test_rankers.py.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from structkit import registry
from structkit.embeddings.vectors import Floats
from structkit.errors import UserError, flag, wrong_usage
from structkit.records.fields import query_text
from structkit.records.jsonl import Record, Records, parse_each
from structkit.registry import Contract
from structkit.scoring.runs import Run
from structkit.scoring.runs import ranking as by_score
from structkit.searching.fusion import Scores, min_max, round_to_float32, top_hits
from structkit.searching.hits import Hit
from structkit.settings import settings_class, settings_of

MAX_WEIGHT = 1e6  # of a ranker, as of the run's own scores


class Query(NamedTuple):
    """A query and its text."""

    id: str
    text: str


class Candidate(NamedTuple):
    """A hit: its score, scaled to 0 … 1 within its query, and its record in the corpus."""

    doc_id: str
    score: float
    record: Record

    @property
    def path(self) -> str:
        """The path of its file, empty if the record has none."""
        path = self.record.get("path")
        return path if isinstance(path, str) else ""

    @property
    def file(self) -> str:
        """The path of its file; a hit without one is a file alone."""
        return self.path or self.doc_id

    @property
    def names(self) -> list[str]:
        """The names that it defines, as written by `collect`."""
        names = self.record.get("names", [self.record.get("name")])
        names = names if isinstance(names, list) else [names]
        return [name for name in names if isinstance(name, str)]


@settings_class
class Ranker(Contract):
    """Contract of a file of rankers/: one signal of a hit's relevance.

    Its flags are among `rerank`'s: embeddings, query_embeddings, model, document_field.
    """

    weight: ClassVar[float] = 0.2
    """Its weight where none is given; the search's own scores are 0 … 1."""

    @abstractmethod
    def scores(self, query: Query, hits: Sequence[Candidate]) -> Sequence[float] | Floats:
        """Return a score for each hit of a query, (hits,): 0 … 1, or below 0 to demote it."""


@dataclass(frozen=True)
class Candidates:
    """Input of a reranking: the hits of each query, their records, and the queries."""

    run: Run
    records: dict[str, Record]
    queries: dict[str, Record]
    query_field: str | None = None

    @classmethod
    def read(
        cls, run: Run, corpus: Sequence[str], queries: Sequence[str], query_field: str | None = None
    ) -> Candidates:
        """Read the records of the hits and the queries of a run. Errors: a missing one."""
        documents = {doc_id for hits in run.values() for doc_id in hits}
        records = read_some(corpus, documents, "document", "name the corpus that was searched")

        def asked(record: Record) -> Record:
            query_text(record, query_field)  # report an invalid query with its line
            return record

        questions = read_some(queries, run, "query", "name the queries of the run", asked)
        return cls(run, records, questions, query_field)

    def __iter__(self) -> Iterator[tuple[Query, list[Hit]]]:
        for query_id, scores in self.run.items():
            text = query_text(self.queries[query_id], self.query_field)
            hits = [Hit(doc_id, scores[doc_id]) for doc_id in by_score(scores)]
            yield Query(query_id, text), hits


def read_some(
    files: Sequence[str],
    ids: Collection[str],
    kind: str,
    remedy: str,
    checked: Callable[[Record], Record] = lambda record: record,
) -> dict[str, Record]:
    """Return the records with these ids. Errors: a missing one."""
    records = Records.read(files)
    rows = parse_each(records, lambda record: checked(record) if record["id"] in ids else None)
    kept = {identifier: record for identifier, record in rows if record is not None}
    if lost := [identifier for identifier in ids if identifier not in kept]:
        problem = UserError(f'has no {kind} "{lost[0]}", which is in the run', remedy)
        raise problem.at(records.lines.file)
    return kept


@dataclass(frozen=True)
class Ranking:
    """Order of hits: rankers with their weights, and the treatment of hits in one file.

    A hit's score is multiplied by `repeats` for each better one in its file. `search` is the weight
    of the hits' own scores.
    """

    rankers: tuple[tuple[Ranker, float], ...] = ()
    repeats: float = 1.0
    search: float = 1.0


def candidates_of(hits: Sequence[Hit], records: Mapping[str, Record]) -> list[Candidate]:
    """Return the hits of a query, best first, with their scores scaled to 0 … 1."""
    scores = min_max({hit.doc_id: hit.score for hit in hits})
    return [Candidate(doc_id, scores[doc_id], records[doc_id]) for doc_id in by_score(scores)]


def rerank(
    query: Query, hits: Sequence[Hit], records: Mapping[str, Record], ranking: Ranking, k: int
) -> list[Hit]:
    """Return the k best hits of a query by scaled scores plus rankers' scores.

    `records` has the corpus record of each hit, by id.
    """
    if not hits:
        return []
    candidates = candidates_of(hits, records)
    total = ranking.search * np.array([each.score for each in candidates])  # (hits,)
    for ranker, weight in ranking.rankers:
        total += weight * np.asarray(ranker.scores(query, candidates))
    summed = dict(zip((each.doc_id for each in candidates), total.tolist(), strict=True))
    files = {each.doc_id: each.file for each in candidates}
    best = {hit.doc_id: hit.best for hit in hits}
    scores = discount_repeats(summed, files, ranking.repeats)
    return top_hits(round_to_float32(scores), k, best)


def discount_repeats(scores: Scores, files: Mapping[str, str], repeats: float) -> Scores:
    """Multiply scores by `repeats` for each better hit of the same file.

    >>> discount_repeats({"a": 1.0, "b": 0.8, "c": 0.5}, {"a": "x", "b": "x", "c": "y"}, 0.5)
    {'a': 1.0, 'b': 0.4, 'c': 0.5}
    """
    before = Counter[str]()
    discounted: Scores = {}
    for doc_id in by_score(scores):
        score, file = scores[doc_id], files[doc_id]
        discounted[doc_id] = score * repeats ** before[file] if score > 0 else score  # never higher
        before[file] += 1
    return discounted


@dataclass(frozen=True)
class Weights:
    """Weights of rankers by name, None for a ranker's own, and the `repeats` of `Ranking`."""

    rankers: Mapping[str, float | None] = field(default_factory=dict)
    repeats: float = 1.0

    def ranking(self, flags: Mapping[str, Any] | None = None) -> Ranking:
        """Return the rankers, each with the flags that it takes."""
        given, rankers, taken = flags or {}, [], set[str]()
        for name, weight in self.rankers.items():
            kind: type[Ranker] = registry.load("ranker", name)
            names = {setting.name for setting in settings_of(kind)}
            own = {each: value for each, value in given.items() if each in names}
            taken |= own.keys()
            ranker = registry.configure(kind, registry.canonical("ranker", name), own)
            rankers.append((ranker, kind.weight if weight is None else weight))
        for name in given:
            if name not in taken:
                remedy = f"add a {flag('ranker')} that does, or leave it out"
                raise wrong_usage(f"no ranker takes {flag(name)}", remedy)
        return Ranking(tuple(rankers), self.repeats)


# fitted by `python -m experiments.fitting` on 13 repositories of the published comparison, with
# BM25 and a table of static embeddings; leaving out each repository in turn, all 13 fits find these
# weights, so that the table's nDCG@10 of `make repositories`, 0.88, is the one held out, too (BM25
# alone 0.86); it showed that older versions and headers were missing, so their effect there is not
# held out; nor is the weight of definitions, 2 and a quarter of each in a sentence, chosen later
PRESETS = {
    "code": Weights(
        {
            "path-words": 1.0,
            "definitions": 2.0,
            "name-words": 0.5,
            "coherence": 0.5,
            "path-kinds": 1.0,
            "path-variants": 1.0,
        },
        0.5,
    ),
    # a search by words, reranked by the same words and their stems in hits and in pages
    "pages": Weights({"pages": 3.0}, 0.5),
}


def choose(preset: str | None = None, rankers: Sequence[str] = ()) -> Weights:
    """Return the weights of a preset, if any, changed by `NAME=WEIGHT`."""
    base = Weights() if preset is None else PRESETS[preset]
    return replace(base, rankers={**base.rankers, **dict(map(weight_of, rankers))})


def weight_of(text: str) -> tuple[str, float | None]:
    """Return the name and the weight, if any, in `NAME` or `NAME=WEIGHT`.

    >>> weight_of("coherence=0.3"), weight_of("coherence")
    (('coherence', 0.3), ('coherence', None))
    """
    name, sign, number = text.partition("=")
    try:
        weight = float(number) if sign else None
    except ValueError:
        weight = math.nan
    if weight is not None and not abs(weight) <= MAX_WEIGHT:
        problem = f"{flag('ranker', text)}: {number!r} is not a weight"
        raise wrong_usage(problem, "write NAME=0.5")
    return name, weight
