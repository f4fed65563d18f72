"""Score what a classifier learns, and models on a suite of tasks: a row for each model.

Tests: tests/scoring/test_suite.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from structkit.commands.score import Settings, by_name
from structkit.embeddings.pairs import EmbeddingPairs, read_pairs
from structkit.errors import UserError, flag
from structkit.records.jsonl import Record
from structkit.records.lines import input_name
from structkit.scoring.classification import right_answers
from structkit.scoring.measures import Values
from structkit.scoring.similarity import bootstrap, correlation, cosines, ends

TRAIN = "train"
SCORE = "Score"
MAJORITY = "majority"

# of each task its value, and that on draws of its pairs, (resamples,): the same for all models
Results = dict[str, tuple[float, Values]]


def classification(settings: Settings) -> Iterator[Record]:
    """One record for each file: accuracy x 100 of its test pairs, mean and deviation over seeds.

    Classifiers learn from the pairs whose `split` is `train`. The standard deviation is over the
    seeds (n - 1), `majority` is the accuracy of always choosing the most frequent label.
    """
    for name, path in settings.named_runs.items():
        pairs = read_pairs([path])
        try:
            train, test = _halves(pairs)
            right = right_answers(train, test, settings.seed)
        except UserError as error:
            raise error.at(input_name(path)) from None
        accuracies, labels = right.mean(1), test.labels()
        yield {
            "run": name,
            "train": len(train),
            "test": len(test),
            "classes": len(set(train.labels())),
            "majority": 100 * max(map(labels.count, set(labels))) / len(labels),
            "accuracy": 100 * float(accuracies.mean()),
            "accuracy_deviation": 100 * float(accuracies.std(ddof=1)),
        }


def _halves(pairs: EmbeddingPairs) -> tuple[EmbeddingPairs, EmbeddingPairs]:
    """The pairs to learn from and those to test."""
    learning = [record.get("split") == TRAIN for record in pairs.records]
    if all(learning) or not any(learning):
        which = "for training" if all(learning) else 'to test: none has "split": "train"'
        raise UserError(f"all pairs are {which}", "give pairs of both kinds")
    rows = range(len(learning))
    train, test = ([row for row in rows if learning[row] is part] for part in (True, False))
    return pairs.take(train), pairs.take(test)


def suite(settings: Settings) -> Iterator[Record]:
    """One record for each model: its value on every task, and their mean, `Score`.

    Each file holds pairs of all tasks: their field `task` names the task. Where `split` is `train`
    for some of its pairs, its value is the accuracy x 100 of classifiers that learn from these to
    predict the `label` (or `score`) of the others; otherwise Spearman x 100 of cosines and `score`.
    Names that differ only after an `@`, such as `strae@0` and `strae@1`, are one model, trained
    with several seeds: it gets means, and the deviation over the seeds (n - 1) in `TASK_deviation`.
    `TASK_low` and `TASK_high` are the ends of the 95 % interval over the test pairs, drawn with
    replacement. Where classifiers learn, a last record, `majority`, has the accuracy of always
    choosing the most frequent label of the test pairs. With `compare`: one record for each other
    model, each of these and each task, with the difference on the same draws. Source: StrAE,
    table 3.
    """
    # what is compared with is one of the models
    others = [path for path in settings.compare if path not in settings.runs]
    files = by_name([*settings.runs, *others])
    results = {name: _of_file(path, settings.seed) for name, path in files.items()}
    first, majority = next(iter(results.values()))
    models: dict[str, list[Results]] = {}
    for name, (found, _) in results.items():
        if first.keys() != found.keys():
            problem = f"has the tasks {', '.join(found)}, not {', '.join(first)}"
            remedy = "score all models on the same pairs"
            raise UserError(problem, remedy).at(input_name(files[name]))
        models.setdefault(name.partition("@")[0], []).append(found)
    compared = (name for name, path in files.items() if path in settings.compare)
    against = list(dict.fromkeys(name.partition("@")[0] for name in compared))
    for name, seeded in models.items():
        if not against:
            yield _row(name, seeded)
        for other in against:
            if other != name:
                yield from _compare({"run": name, "against": other}, seeded, models[other])
    if majority and not against:
        yield {**_row(MAJORITY, [majority]), "seeds": 0}


def _row(name: str, seeded: Sequence[Results]) -> Record:
    row: Record = {"run": name, "seeds": len(seeded)}
    for task, (value, draws) in _mean(seeded).items():
        row[task] = value
        if len(seeded) > 1:
            row[f"{task}_deviation"] = float(np.std([each[task][0] for each in seeded], ddof=1))
        row[f"{task}_low"], row[f"{task}_high"] = ends(draws)
    return row


def _mean(seeded: Sequence[Results]) -> Results:
    """The mean of the values of each task, and of their draws."""
    found: Results = {}
    for task in seeded[0]:
        values, draws = zip(*(each[task] for each in seeded), strict=True)
        found[task] = float(np.mean(values)), np.mean(draws, axis=0)
    return found


def _compare(
    names: Record, seeded: Sequence[Results], others: Sequence[Results]
) -> Iterator[Record]:
    """The differences on the same draws of pairs; p: twice the share of draws across 0."""
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


def _of_file(path: str, seed: int) -> tuple[Results, Results]:
    """The results of a file's tasks, and of the most frequent label where a classifier learns."""
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
    train, test = _halves(pairs)
    right = right_answers(train, test, seed).mean(0)
    labels = test.labels()
    frequent = max(sorted(set(labels)), key=labels.count)
    return _accuracy(right, seed), _accuracy(np.array([x == frequent for x in labels]), seed)


def _accuracy(right: Any, seed: int) -> tuple[float, Values]:
    """How often (pairs,) test pairs are answered rightly x 100, and on draws of them."""
    draws = bootstrap(len(right), lambda drawn: right[drawn].mean(1), seed)
    return 100 * float(right.mean()), 100 * draws
