"""Results of models on a suite of tasks, and their differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from structkit.embeddings.pairs import EmbeddingPairs, read_pairs
from structkit.errors import UserError, flag
from structkit.records.jsonl import Record, input_name
from structkit.scoring.classification import TRAIN, halves, right_answers
from structkit.scoring.measures import Values
from structkit.scoring.similarity import bootstrap, correlation, cosines, ends

SCORE = "Score"
MAJORITY = "majority"

# of each task its value, and that on draws of its pairs, (resamples,): the same for all models
Results = dict[str, tuple[float, Values]]


def summary(name: str, seeded: Sequence[Results]) -> Record:
    """Return the means of a model's seeds on each task, their deviations and intervals."""
    row: Record = {"run": name, "seeds": len(seeded)}
    for task, (value, draws) in _mean(seeded).items():
        row[task] = value
        if len(seeded) > 1:
            row[f"{task}_deviation"] = float(np.std([each[task][0] for each in seeded], ddof=1))
        row[f"{task}_low"], row[f"{task}_high"] = ends(draws)
    return row


def _mean(seeded: Sequence[Results]) -> Results:
    """Return the mean of the values of each task, and of their draws."""
    found: Results = {}
    for task in seeded[0]:
        values, draws = zip(*(each[task] for each in seeded), strict=True)
        found[task] = float(np.mean(values)), np.mean(draws, axis=0)
    return found


def compare(
    names: Record, seeded: Sequence[Results], others: Sequence[Results]
) -> Iterator[Record]:
    """Yield the differences on the same draws of pairs; p: twice the share of draws across 0."""
    theirs = _mean(others)
    for task, (value, draws) in _mean(seeded).items():
        other, other_draws = theirs[task]
        beyond = draws - other_draws
        beyond = beyond[np.isfinite(beyond)]
        low, high = ends(beyond)
        across = min((beyond <= 0).sum(), (beyond >= 0).sum())
        yield {
            **names,
            "task": task,
            "value": value,
            "against_value": other,
            "difference": value - other,
            "difference_low": low,
            "difference_high": high,
            "p_bootstrap": min(1.0, 2 * float(across + 1) / (len(beyond) + 1)),
        }


def read_results(path: str, seed: int) -> tuple[Results, Results]:
    """Return the results of a file's tasks, and of a classifier's most frequent label."""
    pairs = read_pairs([path])
    rows: dict[str, list[int]] = {}
    for row, record in enumerate(pairs.records):
        rows.setdefault(str(record.get("task", "")), []).append(row)
    if "" in rows:
        problem = f'the pair "{pairs.records[rows[""][0]]["id"]}": field "task" is missing'
        raise UserError(problem, f"encode with {flag('keep', 'task')}").at(input_name(path))
    found: Results = {}
    majority: Results = {}
    for task, chosen in rows.items():
        try:
            found[task], frequent = _of_task(pairs.take(chosen), seed)
        except UserError as error:
            error.problem = f"{task}: {error.problem}"
            raise error.at(input_name(path)) from None
        if frequent:
            majority[task] = frequent
    values, draws = zip(*found.values(), strict=True)
    found[SCORE] = float(np.mean(values)), np.mean(draws, axis=0)
    return found, majority


def _of_task(
    pairs: EmbeddingPairs, seed: int
) -> tuple[tuple[float, Values], tuple[float, Values] | None]:
    if not any(record.get("split") == TRAIN for record in pairs.records):
        value, draws = correlation(cosines(pairs.left, pairs.right), pairs.scores(), seed)
        return (100 * value, 100 * draws), None
    train, test = halves(pairs)
    right = right_answers(train, test, seed).mean(0)
    labels = test.labels()
    frequent = max(sorted(set(labels)), key=labels.count)
    return _accuracy(right, seed), _accuracy(np.array([x == frequent for x in labels]), seed)


def _accuracy(right: Any, seed: int) -> tuple[float, Values]:
    """Return the accuracy x 100 of test pairs (pairs,), and on draws of them."""
    draws = bootstrap(len(right), lambda drawn: right[drawn].mean(1), seed)
    return 100 * float(right.mean()), 100 * draws
