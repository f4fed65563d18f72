"""Measures of a run against judgements: values, their intervals, and comparisons of two runs.

The values are of trec_eval's own code, called through ir_measures; those that it lacks are of the
other programs that ir_measures calls, where they are installed. All get the same ranking.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import ir_measures
import numpy as np
from ir_measures.measures.base import registry
from numpy.typing import NDArray

from structkit.errors import UserError, guess, wrong_usage
from structkit.reproducibility import key
from structkit.scoring.qrels import MAX_RELEVANCE, Qrels
from structkit.scoring.runs import Run, ranking, trec_eval_scores

ALIASES = {"ndcg": "nDCG", "hitrate": "Success", "hit": "Success"}
PROVIDERS: list[Any] = ir_measures.DefaultPipeline.providers
MAX_PARAMETER = 2**31 - 1  # of whole numbers in parameters
MAX_EXPONENTIAL_GRADE = 19  # the highest grade whose gain 2^grade - 1 is not beyond HIGHEST
MAX_ERR_GRADE = 4  # the highest grade that gdeval takes, which divides gains by 2^4
RESAMPLES = 1000
CONFIDENCE = 0.95
PERMUTATIONS = 10_000
SIGNS_PER_BLOCK = 1 << 22  # signs that are drawn together
TIE_TOLERANCE = 1e-12  # a smaller difference is a tie, not a win

Values = NDArray[np.float64]


def measure(name: str) -> ir_measures.Measure:
    """Return the measure of a name as in ir_measures, in any case, or MRR or HitRate.

    >>> [str(measure(name)) for name in ("ndcg@10", "MRR@100", "MRR", "HitRate@5")]
    ['nDCG@10', 'RR@100', 'RR', 'Success@5']
    """
    base = name.partition("@")[0].partition("(")[0]
    canonical_names = {known.lower(): known for known in registry} | ALIASES
    canonical = canonical_names.get(base.lower(), base)
    example = "for example nDCG@10, RR@10, R@100, Success@5, P(rel=2)@1, AP"
    if canonical not in registry:
        guessed = guess(base, canonical_names.values())
        raise wrong_usage(f"unknown measure {name!r}", f"{guessed}{example}")
    try:
        measure = ir_measures.parse_measure(canonical + name[len(base) :])
        measure.validate_params()  # type: ignore[no-untyped-call]
        offers: list[Any] = [
            each for each in PROVIDERS if each.supports(_trec_eval_measure(measure) or measure)
        ]
        if not offers or not _plausible(measure):
            raise ValueError
    except (ValueError, SyntaxError, TypeError, AssertionError, MemoryError, RecursionError):
        names = (
            "@k" if each == "cutoff" else each for each in registry[canonical].SUPPORTED_PARAMS
        )
        raise wrong_usage(
            f"unknown measure {name!r}", f"{canonical} takes {', '.join(names)}; {example}"
        ) from None
    if not any(each.is_available() for each in offers):
        needs = offers[0].install_instructions()
        raise wrong_usage(f"structkit does not compute {name}", f"{needs}; {example}")
    return measure


def _plausible(measure: ir_measures.Measure) -> bool:
    """Return whether the numbers in parameters are some that trec_eval can compute with."""
    values = [each for name, each in measure.params.items() if name in ("cutoff", "rel")]
    gains = [each for pair in measure.params.get("gains", {}).items() for each in pair]
    return (
        all(type(each) is int and 0 < each <= MAX_PARAMETER for each in values)
        and all(type(each) is int and abs(each) <= MAX_RELEVANCE for each in gains)
        and all(math.isfinite(each) for each in measure.params.values() if type(each) is float)
        and 0 <= measure.params.get("recall", 0) <= 1
    )


@dataclass(frozen=True)
class Evaluation:
    """The values of a run: one row for each judged query, one column for each measure."""

    names: list[str]
    query_ids: list[str]
    values: Values  # (queries, measures)
    lost: frozenset[str]  # judged queries that the run lacks; their values are 0
    unjudged: int  # queries of the run without judgements; they do not count

    def part(self, rows: Sequence[int]) -> Evaluation:
        """Return the evaluation of some queries, without the count of unjudged ones."""
        query_ids = [self.query_ids[row] for row in rows]
        missing = self.lost.intersection(query_ids)
        return replace(
            self, query_ids=query_ids, values=self.values[rows], lost=missing, unjudged=0
        )


def interval(values: Values, seed: int = 0) -> tuple[Values, Values]:
    """Return the ends (columns,) of the 95 % intervals of means of (rows, columns).

    A percentile bootstrap: rows are drawn with replacement. Source: Sakai, SIGIR 2006.
    """
    return macro_average([values], seed)[1:]


def macro_average(parts: Sequence[Values], seed: int = 0) -> tuple[Values, Values, Values]:
    """Return the mean of the means of the parts, (columns,), and the ends of its 95 % interval.

    The parts, (rows, columns) each, have the same weight, however many rows they have; rows are
    drawn within their part.
    """
    # scipy.stats.bootstrap knows no parts; of one its ends differ by 2e-15, in five times the time
    generator = np.random.default_rng(key(seed, "bootstrap"))
    means = np.zeros((RESAMPLES, parts[0].shape[1]))
    for values in parts:
        count = len(values)
        for sample in range(RESAMPLES):
            drawn = np.bincount(generator.integers(0, count, count), minlength=count)  # (rows,)
            means[sample] += drawn @ values / count / len(parts)
    outside = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [outside, 1 - outside], axis=0)
    return np.mean([values.mean(axis=0) for values in parts], axis=0), low, high


def evaluate(run: Run, qrels: Qrels, names: Sequence[str]) -> Evaluation:
    """Return the values of the measures for every judged query.

    A judged query that the run lacks counts 0. Errors: the run shares no query with the judgements,
    so the ids do not match.
    """
    measures = [measure(name) for name in names]
    query_ids = list(qrels)
    judged = {query_id: documents for query_id, documents in run.items() if query_id in qrels}
    if not judged:
        run_id = next(iter(run), "")
        judged_id = next(iter(qrels), "")
        raise UserError(
            f'no query of the run is judged: it has "{run_id}", the judgements have "{judged_id}"',
            "give the judgements of this run",
        )
    values = np.zeros((len(query_ids), len(names)))
    columns = dict(_measure_values(dict.fromkeys(measures), qrels, judged))
    rows = [number for number, query_id in enumerate(query_ids) if query_id in judged]
    for column, name in enumerate(measures):
        values[rows, column] = columns[name]
    lost = frozenset(qrels.keys() - judged.keys())
    return Evaluation(list(names), query_ids, values, lost, len(run) - len(judged))


def _measure_values(
    measures: Iterable[ir_measures.Measure], qrels: Qrels, run: Run
) -> Iterator[tuple[ir_measures.Measure, Values]]:
    """Yield the values of each measure for the queries of both, in the order of the judgements."""
    of_trec_eval: dict[ir_measures.Measure, ir_measures.Measure] = {}
    for measure in measures:
        if measure.NAME == "Judged":
            yield measure, _judged_values(measure, qrels, run)
        elif computed := _trec_eval_measure(measure, qrels):
            of_trec_eval[measure] = computed
        else:
            yield measure, _other_values(measure, qrels, run)
    columns = _trec_eval_values({*of_trec_eval.values()}, qrels, run)
    for measure, computed in of_trec_eval.items():
        values = columns[computed]
        if measure.NAME == "RR" and "cutoff" in measure.params:  # 1 / rank counts to the cutoff
            values = np.where(values * (measure["cutoff"] + 0.5) > 1, values, 0.0)
        yield measure, values


def _trec_eval_values(
    measures: set[ir_measures.Measure], qrels: Qrels, run: Run
) -> dict[ir_measures.Measure, Values]:
    """Return the values of measures that trec_eval supports."""
    qrels = {query_id: documents for query_id, documents in qrels.items() if query_id in run}
    ids = chain.from_iterable((query_id, *qrels[query_id], *run[query_id]) for query_id in qrels)
    if "\0" in "".join(ids):  # where C ends a string
        qrels, run = _with_numbers_as_ids(qrels, run)
    else:
        run = {query_id: trec_eval_scores(documents) for query_id, documents in run.items()}
    for query_id, documents in qrels.items():
        if max(documents.values()) < 0:  # trec_eval would write before its arrays; all values are 0
            qrels[query_id] = {"": 0}
    # ir_measures may compute a measure together with others, by the gains or documents of these
    measures_by_params: dict[str, set[ir_measures.Measure]] = {}
    for measure in measures:
        params = repr([measure.params.get(name) for name in ("gains", "judged_only")])
        measures_by_params.setdefault(params, set()).add(measure)
    columns: dict[ir_measures.Measure, Values] = {}
    for measures_together in measures_by_params.values():
        # of two measures with one name in trec_eval, a pass computes one
        while uncomputed := measures_together - columns.keys():
            # one pass of trec_eval for each level of relevance, not an object for each value
            evaluator: Any = ir_measures.pytrec_eval.evaluator(uncomputed, qrels)
            for invoker in evaluator.invokers:
                result = invoker.evaluator.evaluate(run)
                of_queries = [result[query_id] for query_id in qrels]
                for name, (measure, _) in invoker.measure_map.items():
                    values = [of_query[name] for of_query in of_queries]
                    columns[measure] = np.array(values, np.float64)
    return columns


def _with_numbers_as_ids(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Return the queries of both, with numbers for all ids, and ranks, last first, for scores."""
    numbers: dict[str, str] = {}
    judged: Qrels = {}
    ranked: Run = {}
    for row, query_id in enumerate(qrels):
        if query_id not in run:
            continue
        for doc_id in (*qrels[query_id], *run[query_id]):
            numbers.setdefault(doc_id, f"d{len(numbers)}")
        grades = qrels[query_id].items()
        judged[str(row)] = {numbers[doc_id]: grade for doc_id, grade in grades}
        # above 0, which Compat takes for documents that were not found
        last_first = enumerate(reversed(ranking(run[query_id])), 1)
        ranked[str(row)] = {numbers[doc_id]: float(score) for score, doc_id in last_first}
    return judged, ranked


def _trec_eval_measure(
    measure: ir_measures.Measure, qrels: Qrels | None = None
) -> ir_measures.Measure | None:
    """Return the measure of trec_eval that gives the values of one, if it exists.

    For RR@k, which it lacks, that is RR; for exponential gains, nDCG with these. Source of the
    gains: Burges et al. 2005. Errors: judgements with grades too high for them.
    """
    params = dict(measure.params)
    if measure.NAME == "RR":
        params.pop("cutoff", None)
    if measure.NAME == "nDCG" and params.pop("dcg", "log2") == "exp-log2":
        given = params.get("gains", {})
        grades = {each for documents in (qrels or {}).values() for each in documents.values()}
        gains = {grade: given.get(grade, grade) for grade in grades}
        if gains and max(gains.values()) > MAX_EXPONENTIAL_GRADE:
            raise UserError(
                f"{measure} of a relevance of {max(gains.values())}",
                f"judge with grades of at most {MAX_EXPONENTIAL_GRADE}, or use log2",
            )
        params["gains"] = {grade: 2**gain - 1 if gain > 0 else 0 for grade, gain in gains.items()}
    known: ir_measures.Measure = type(measure)(**params)
    return known if ir_measures.pytrec_eval.supports(known) else None


def _other_values(measure: ir_measures.Measure, qrels: Qrels, run: Run) -> Values:
    """Return the values of a measure that another program computes by ranks.

    Errors: judgements that the program does not take.
    """
    highest = max(max(documents.values(), default=0) for documents in qrels.values())
    if measure.NAME == "ERR" and highest > MAX_ERR_GRADE:
        raise UserError(
            f"{measure} of a relevance of {highest}: gdeval takes grades up to {MAX_ERR_GRADE}",
            "map the grades to 0 to 4, or use nDCG",
        )
    judged, ranked = _with_numbers_as_ids(qrels, run)
    provider = next(each for each in PROVIDERS if each.supports(measure) and each.is_available())
    results = provider.evaluator([measure], judged).iter_calc(ranked)
    try:
        values = {result.query_id: result.value for result in results}
    except ZeroDivisionError:  # of Accuracy, without a document that is not relevant
        raise UserError(f"{measure} is not defined for some query", "use another measure") from None
    return np.array([values.get(row, measure.DEFAULT) for row in ranked], np.float64)


def _judged_values(measure: ir_measures.Measure, qrels: Qrels, run: Run) -> Values:
    """Return the share of judged documents among the first ones, or among all without a cutoff."""
    shares = []
    for query_id, judged in qrels.items():
        if query_id in run:
            first = ranking(run[query_id])[: measure.params.get("cutoff")]
            shares.append(sum(map(judged.__contains__, first)) / max(1, len(first)))
    return np.array(shares)


def compare_values(ours: Values, theirs: Values, seed: int = 0) -> dict[str, float]:
    """Compare the values of one measure on the same queries, both (queries,).

    The mean difference has the ends of its 95 % interval, a bootstrap over queries; p values are
    two-sided, by flipping the signs of the differences and of Student's paired test. Sources:
    Smucker, Allan, Carterette, CIKM 2007 (randomization test); Sakai, SIGIR 2006.

    >>> same = compare_values(np.array([1.0, 0.5]), np.array([1.0, 0.5]))
    >>> same["difference"], same["p_randomization"], same["p_t"], same["ties"]
    (0.0, 1.0, 1.0, 2)
    """
    differences = np.where(np.abs(ours - theirs) < TIE_TOLERANCE, 0.0, ours - theirs)  # (queries,)
    low, high = interval(differences[:, None], seed)
    return {
        "difference": float(differences.mean()),
        "difference_low": float(low[0]),
        "difference_high": float(high[0]),
        "p_randomization": randomization_test(differences, seed),
        "p_t": paired_t_test(differences),
        "wins": int((differences > 0).sum()),
        "ties": int((differences == 0).sum()),
        "losses": int((differences < 0).sum()),
    }


def randomization_test(differences: Values, seed: int = 0) -> float:
    """Return the share of random signs with a mean at least as far from 0 as observed.

    If at most `PERMUTATIONS` signs exist, all 2^n are tried and the share is exact.

    >>> randomization_test(np.array([1.0, 2.0, 3.0]))  # +++ and ---, of 8
    0.25
    """
    # scipy.stats.permutation_test draws other signs: where it tries not all, p is another (0.088
    # for 0.094 over 200 differences)
    nonzero = differences[differences != 0]  # the others do not change the mean
    observed = abs(nonzero.sum()) - TIE_TOLERANCE
    if 2 ** len(nonzero) <= PERMUTATIONS:
        numbers = np.arange(2 ** len(nonzero))[:, None]
        signs = 1.0 - 2.0 * (numbers >> np.arange(len(nonzero)) & 1)  # (2^n, n)
        return float((np.abs(signs @ nonzero) >= observed).mean())
    generator = np.random.default_rng(key(seed, "randomization"))
    size, extreme = max(1, SIGNS_PER_BLOCK // len(nonzero)), 0
    for first in range(0, PERMUTATIONS, size):
        count = min(size, PERMUTATIONS - first)
        signs = 1.0 - 2.0 * generator.integers(0, 2, (count, len(nonzero)), np.int8)
        extreme += int((np.abs(signs @ nonzero) >= observed).sum())
    return (extreme + 1) / (PERMUTATIONS + 1)


def paired_t_test(differences: Values) -> float:
    """Return the p value of Student's paired test; equal differences have no spread.

    >>> round(paired_t_test(np.array([1.0, 2.0, 3.0])), 4)  # t = 2 / (1 / sqrt(3)), two degrees
    0.0742
    """
    if np.ptp(differences) == 0:
        return 0.0 if differences[0] else 1.0
    from scipy.special import stdtr  # imported only for a comparison: it takes 0.3 s

    count = len(differences)
    t = differences.mean() / (differences.std(ddof=1) / math.sqrt(count))
    return float(2 * stdtr(count - 1, -abs(t)))
