"""Results of models on a suite of tasks, and their differences."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from structkit.embeddings.pairs import EmbeddingPairs, read_pairs
from structkit.errors import UserError, flag
from structkit.records.jsonl import Record
from structkit.scoring.classification import TRAIN_SPLIT, right_answers, split_pairs
from structkit.scoring.measures import Values
from structkit.scoring.similarity import bootstrap, correlation, cosines, interval_ends

MEAN_OF_TASKS = "Score"
MAJORITY = "majority"

# of a task its value, and that on draws of its pairs, (resamples,): the same for all models
TaskResult = tuple[float, Values]
TaskResults = dict[str, TaskResult]


def summary(name: str, seeded: Sequence[TaskResults]) -> Record:
    """Return the means of a model's seeds on each task, their deviations and intervals."""
    row: Record = {"run": name, "seeds": len(seeded)}
    for task, (value, draws) in _mean_of_seeds(seeded).items():
        row[task] = value
        if len(seeded) > 1:
            row[f"{task}_deviation"] = float(np.std([each[task][0] for each in seeded], ddof=1))
        row[f"{task}_low"], row[f"{task}_high"] = interval_ends(draws)
    return row


def _mean_of_seeds(seeded: Sequence[TaskResults]) -> TaskResults:
    """Return the mean of the values of each task, and of their draws."""
    return {task: _mean(each[task] for each in seeded) for task in seeded[0]}


def _mean(results: Iterable[TaskResult]) -> TaskResult:
    values, draws = zip(*results, strict=True)
    return float(np.mean(values)), np.mean(draws, axis=0)


def compare_models(
    names: Record, seeded: Sequence[TaskResults], others: Sequence[TaskResults]
) -> Iterator[Record]:
    """Yield the differences on the same draws of pairs; p: twice the share of draws across 0."""
    theirs = _mean_of_seeds(others)
    for task, (value, draws) in _mean_of_seeds(seeded).items():
        other, other_draws = theirs[task]
        beyond = draws - other_draws
        beyond = beyond[np.isfinite(beyond)]
        low, high = interval_ends(beyond)
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


def read_results(path: str, seed: int) -> tuple[TaskResults, TaskResults]:
    """Return the results of a file's tasks, and of a classifier's most frequent label."""
    pairs = read_pairs([path])
    rows: dict[str, list[int]] = {}
    for row, record in enumerate(pairs.records):
        rows.setdefault(str(record.get("task", "")), []).append(row)
    if "" in rows:
        raise UserError(
            f'the pair "{pairs.records[rows[""][0]]["id"]}": field "task" is missing',
            f"encode with {flag('keep', 'task')}",
        ).at(path)
    found: TaskResults = {}
    majority: TaskResults = {}
    for task, chosen in rows.items():
        try:
            found[task], frequent = _task_result(pairs.take(chosen), seed)
        except UserError as error:
            error.problem = f"{task}: {error.problem}"
            raise error.at(path) from None
        if frequent:
            majority[task] = frequent
    found[MEAN_OF_TASKS] = _mean(found.values())
    return found, majority


def _task_result(pairs: EmbeddingPairs, seed: int) -> tuple[TaskResult, TaskResult | None]:
    if not any(record.get("split") == TRAIN_SPLIT for record in pairs.records):
        value, draws = correlation(cosines(pairs.left, pairs.right), pairs.scores(), seed)
        return (100 * value, 100 * draws), None
    train, test = split_pairs(pairs)
    right = right_answers(train, test, seed).mean(0)
    labels = test.labels()
    frequent = max(sorted(set(labels)), key=labels.count)
    return _accuracy_with_draws(right, seed), _accuracy_with_draws(
        np.array([x == frequent for x in labels]), seed
    )


def _accuracy_with_draws(right: Any, seed: int) -> TaskResult:
    """Return the accuracy x 100 of test pairs (pairs,), and on draws of them."""
    draws = bootstrap(len(right), lambda drawn: right[drawn].mean(1), seed)
    return 100 * float(right.mean()), 100 * draws
