"""Score models on a suite of tasks: one row for each model, over its training seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch

from structkit.commands.score import Settings, named
from structkit.embeddings.pairs import EmbeddingPairs, read_pairs
from structkit.errors import UserError, flag
from structkit.paths import is_pipe
from structkit.processes import without_script
from structkit.records.jsonl import Record
from structkit.records.lines import shown
from structkit.scoring.classification import right_answers
from structkit.scoring.measures import Values
from structkit.scoring.similarity import cosines, drawn_spearman, ends, resampled, spearman

TRAIN = "train"
SCORE = "Score"
MAJORITY = "majority"


@dataclass(frozen=True)
class Scored:
    """The values of one or more files on each task, and on draws of the task's pairs."""

    values: Record
    draws: dict[str, Values]  # (resamples,) each; the same pairs for all models
    majority: Scored | None = None  # of the most frequent label, where a classifier learns


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
    files = named([*settings.runs, *others])
    models: dict[str, list[Scored]] = {}
    for (name, path), found in zip(files.items(), _all(files, settings), strict=True):
        known = models.setdefault(name.partition("@")[0], [])
        other = next(iter(models.values()))
        if other and other[0].values.keys() != found.values.keys():
            raise UserError(
                f"has the tasks {', '.join(found.values)}, not {', '.join(other[0].values)}",
                "score all models on the same pairs",
            ).at(shown(path))
        known.append(found)
    compared = (name for name, path in files.items() if path in settings.compare)
    against = list(dict.fromkeys(name.partition("@")[0] for name in compared))
    for name, seeded in models.items():
        if not against:
            yield _row(name, seeded)
        for other_name in against:
            if other_name != name:
                yield from _compared(name, seeded, other_name, models[other_name])
    if found.majority and not against:
        yield {**_row(MAJORITY, [found.majority]), "seeds": 0}


def _all(files: Mapping[str, str], settings: Settings) -> Iterator[Scored]:
    one = partial(_scored, seed=settings.seed, seeds=settings.seeds)
    if settings.workers == 1 or len(files) == 1 or any(map(is_pipe, files.values())):  # only here
        yield from map(one, files.values())
        return
    # one thread per process: sums in another order differ
    with (
        without_script(),
        ProcessPoolExecutor(
            min(settings.workers, len(files)), get_context("spawn"), torch.set_num_threads, (1,)
        ) as pool,
    ):
        yield from pool.map(one, files.values())


def _scored(path: str, seed: int, seeds: int) -> Scored:
    try:
        return _of_tasks(read_pairs([path]), seed, seeds)
    except UserError as error:
        raise error.at(shown(path)) from None


def _row(name: str, seeded: Sequence[Scored]) -> Record:
    row: Record = {"run": name, "seeds": len(seeded)}
    whole = _mean(seeded)
    for task, value in whole.values.items():
        row[task] = value
        if len(seeded) > 1:
            values = [each.values[task] for each in seeded]
            row[f"{task}_deviation"] = float(np.std(values, ddof=1))
        row[f"{task}_low"], row[f"{task}_high"] = ends(whole.draws[task])
    return row


def _mean(seeded: Sequence[Scored]) -> Scored:
    tasks = list(seeded[0].values)
    return Scored(
        {task: float(np.mean([each.values[task] for each in seeded])) for task in tasks},
        {task: np.mean([each.draws[task] for each in seeded], axis=0) for task in tasks},
    )


def _compared(
    name: str, seeded: Sequence[Scored], other_name: str, others: Sequence[Scored]
) -> Iterator[Record]:
    """The differences on the same draws of pairs; p: twice the share of draws across 0."""
    ours, theirs = _mean(seeded), _mean(others)
    for task, value in ours.values.items():
        draws = ours.draws[task] - theirs.draws[task]
        draws = draws[np.isfinite(draws)]
        low, high = ends(draws)
        beyond = min((draws <= 0).sum(), (draws >= 0).sum())
        yield {
            "run": name,
            "against": other_name,
            "task": task,
            "value": value,
            "against_value": theirs.values[task],
            "difference": value - theirs.values[task],
            "difference_low": low,
            "difference_high": high,
            "p_bootstrap": min(1.0, 2 * float(beyond + 1) / (len(draws) + 1)),
        }


def _of_tasks(pairs: EmbeddingPairs, seed: int, seeds: int) -> Scored:
    rows: dict[str, list[int]] = {}
    for row, record in enumerate(pairs.records):
        if "task" not in record:
            raise UserError(
                f'the pair "{record["id"]}": field "task" is missing',
                f"encode with {flag('keep', 'task')}",
            )
        rows.setdefault(str(record["task"]), []).append(row)
    values: Record = {}
    draws: dict[str, Values] = {}
    majority = Scored({}, {})
    for task, chosen in rows.items():
        of_task = pairs.take(chosen)
        learning = [record.get("split") == TRAIN for record in of_task.records]
        values[task], draws[task] = _value(task, of_task, learning, seed, seeds)
        if any(learning):
            labels = of_task.take(_rows(learning, False)).labels()
            frequent = max(sorted(set(labels)), key=labels.count)
            right = np.array([label == frequent for label in labels])
            majority.values[task], majority.draws[task] = _accuracy(right, seed)
    values[SCORE] = float(np.mean(list(values.values())))
    draws[SCORE] = np.mean(list(draws.values()), axis=0)
    return Scored(values, draws, majority if majority.values else None)


def _value(
    task: str, pairs: EmbeddingPairs, learning: Sequence[bool], seed: int, seeds: int
) -> tuple[float, Values]:
    if not any(learning):
        similar, gold = cosines(pairs.left, pairs.right), pairs.scores()
        value = float(spearman(similar, gold))
        if np.isnan(value):
            raise UserError(f"{task}: all scores or all similarities are equal", "check the pairs")
        draws = resampled(len(gold), lambda rows: drawn_spearman(similar, gold, rows), seed)
        return 100 * value, 100 * draws
    if all(learning):
        raise UserError(f"{task}: all pairs are for training", "leave some to test")
    train, test = (pairs.take(_rows(learning, part)) for part in (True, False))
    return _accuracy(right_answers(train, test, range(seed, seed + seeds)).mean(0), seed)


def _rows(learning: Sequence[bool], part: bool) -> list[int]:
    """The rows of the pairs that a classifier learns from, or of the others."""
    return [row for row, learns in enumerate(learning) if learns is part]


def _accuracy(right: Any, seed: int) -> tuple[float, Values]:
    """How often (pairs,) test pairs are answered rightly x 100, and on draws of them."""
    draws = resampled(len(right), lambda drawn: right[drawn].mean(1), seed)
    return 100 * float(right.mean()), 100 * draws
