"""Measures of a run against judgements: trec_eval's own code, called through ir_measures."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import ir_measures
import numpy as np
import numpy.typing as npt
from ir_measures.measures.base import registry
from ir_measures.providers import FallbackProvider

from structkit.errors import UserError
from structkit.retrieval.qrels import Qrels
from structkit.retrieval.runs import Run, canonical
from structkit.seeds import key

DEFAULT = ("nDCG@10", "RR@10", "R@100", "Success@1", "Success@5", "Judged@10")
ALIASES = {"hitrate": "Success", "hit": "Success"}
# those of the default pipeline that need no further program; gdeval is a Perl script
PROVIDERS = FallbackProvider(  # type: ignore[no-untyped-call]
    [ir_measures.pytrec_eval, ir_measures.judged, ir_measures.msmarco]
)
RESAMPLES = 1000
CONFIDENCE = 0.95

Values = npt.NDArray[np.float64]


def measure(name: str) -> ir_measures.Measure:
    """The measure of a name, in ir_measures' writing, in any case; MRR is RR, HitRate is Success.

    >>> [str(measure(name)) for name in ("ndcg@10", "MRR@100", "MRR", "HitRate@5")]
    ['nDCG@10', 'RR@100', 'RR', 'Success@5']
    """
    base = name.partition("@")[0].partition("(")[0]
    known = {**{known.lower(): known for known in registry}, "ndcg": "nDCG", **ALIASES}
    try:
        found = ir_measures.parse_measure(known.get(base.lower(), base) + name[len(base) :])
        found.validate_params()  # type: ignore[no-untyped-call]
        offered = PROVIDERS.supports(found)  # type: ignore[no-untyped-call]
        supported = offered and found.params.get("cutoff", 1) > 0
    except (NameError, ValueError, SyntaxError, TypeError, AssertionError, KeyError):
        supported = False
    if not supported:
        without = registry.get(known.get(base.lower(), ""))
        hint = "give a cutoff, as in" if without is not None and "@" not in name else "examples:"
        raise UserError(
            f"no measure {name!r}", f"{hint} nDCG@10, RR@10, R@100, Success@5, P@1, AP", status=2
        )
    return found


@dataclass(frozen=True)
class Evaluation:
    """The values of a run: one row for every judged query, one column for every measure."""

    names: list[str]
    query_ids: list[str]
    values: Values  # (queries, measures)
    missing: int  # judged queries that the run lacks; their values are 0
    unjudged: int  # queries of the run without judgements; they do not count
    qrels: Qrels
    without: frozenset[str] = frozenset()  # the missing ones

    def part(self, rows: Sequence[int]) -> Evaluation:
        """The same for some of the queries; unjudged queries belong to none of them."""
        query_ids = [self.query_ids[row] for row in rows]
        missing = sum(query_id in self.without for query_id in query_ids)
        return replace(
            self, query_ids=query_ids, values=self.values[rows], missing=missing, unjudged=0
        )

    def means(self) -> Values:
        """The mean of each measure over all judged queries (measures,)."""
        return np.asarray(self.values.mean(axis=0))

    def intervals(self, seed: int = 0) -> tuple[Values, Values]:
        """Low and high ends (measures,) of the means' 95 % intervals, by percentile bootstrap.

        Queries are drawn with replacement. Source: Sakai, SIGIR 2006.
        """
        return interval(self.values, seed)


def interval(values: Values, seed: int = 0) -> tuple[Values, Values]:
    """Low and high ends (columns,) of the 95 % intervals of the means of (rows, columns)."""
    generator = np.random.default_rng(key(seed, "bootstrap"))
    count = len(values)
    means = np.empty((RESAMPLES, values.shape[1]))
    for sample in range(RESAMPLES):
        drawn = np.bincount(generator.integers(0, count, count), minlength=count)  # (rows,)
        means[sample] = drawn @ values / count
    outside = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [outside, 1 - outside], axis=0)
    return low, high


def evaluate(run: Run, qrels: Qrels, names: Sequence[str] = DEFAULT) -> Evaluation:
    """The values of the measures for every judged query.

    A judged query that the run lacks counts 0. A run that shares no query with the judgements
    raises: the ids do not fit.
    """
    measures = [measure(name) for name in names]
    query_ids = list(qrels)
    unjudged = sum(query_id not in qrels for query_id in run)
    judged = {query_id: documents for query_id, documents in run.items() if query_id in qrels}
    if not judged:
        raise UserError(
            f'no query of the run is judged: it has "{next(iter(run), "")}", '
            f'the judgements have "{next(iter(qrels), "")}"',
            "are these the judgements of this run?",
        )
    row = {query_id: number for number, query_id in enumerate(query_ids)}
    columns: dict[ir_measures.Measure, list[int]] = {}
    for number, found in enumerate(measures):
        columns.setdefault(found, []).append(number)
    values = np.zeros((len(query_ids), len(names)))
    # a measure's own hash is that of its name, made anew each time
    known: dict[int, tuple[ir_measures.Measure, list[int]]] = {}
    for metric in _metrics(list(columns), qrels, judged):
        if id(metric.measure) not in known:
            known[id(metric.measure)] = metric.measure, columns[metric.measure]
        _, found_columns = known[id(metric.measure)]
        for column in found_columns:
            values[row[metric.query_id], column] = metric.value
    without = frozenset(query_id for query_id in qrels if query_id not in judged)
    return Evaluation(list(names), query_ids, values, len(without), unjudged, qrels, without)


def _metrics(
    measures: Sequence[ir_measures.Measure], qrels: Qrels, run: Run
) -> Iterator[ir_measures.Metric]:
    # trec_eval orders a run itself; the others get no more of its order than they look at
    own = [m for m in measures if ir_measures.pytrec_eval.supports(m)]
    cut = [m for m in measures if m not in own]
    if cut:
        cutoff = max(m.params.get("cutoff", sys.maxsize) for m in cut)
        top = {
            query_id: dict(islice(documents.items(), cutoff))
            for query_id, documents in canonical(run).items()
        }
        yield from PROVIDERS.iter_calc(cut, qrels, top)
    if own:
        yield from PROVIDERS.iter_calc(own, qrels, run)
