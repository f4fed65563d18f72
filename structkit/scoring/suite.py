"""Score models on a suite of tasks: one row for each model, over its training seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from structkit.embeddings.pairs import EmbeddingPairs, read_pairs
from structkit.errors import UserError
from structkit.records.jsonl import Record, shown
from structkit.scoring.classification import classified
from structkit.scoring.similarity import cosines, spearman

TRAIN = "train"


def suite(files: Mapping[str, str], *, seed: int = 0, seeds: int = 5) -> Iterator[Record]:
    """One record for each model: its value on every task, and their mean, `Score`.

    Each file holds pairs of all tasks: their field `task` names the task. Where `split` is `train`
    for some of its pairs, it is worth the accuracy x 100 of classifiers that learn from these to
    tell the `label` (or `score`) of the others; otherwise Spearman x 100 of cosines and `score`.
    Names that differ only after an `@`, such as `strae@0` and `strae@1`, are one model, trained
    with several seeds: it gets means, and the deviation over the seeds in `TASK_deviation`.
    Source: StrAE, table 3.
    """
    models: dict[str, list[Record]] = {}
    for name, path in files.items():
        try:
            values = _values(read_pairs([path]), seed, seeds)
        except UserError as error:
            raise error.at(shown(path)) from None
        known = models.setdefault(name.partition("@")[0], [])
        other = next(iter(models.values()))
        if other and other[0].keys() != values.keys():
            raise UserError(
                f"has the tasks {', '.join(values)}, not {', '.join(other[0])}",
                "score all models on the same pairs",
            ).at(shown(path))
        known.append(values)
    for name, of_seeds in models.items():
        yield _row(name, of_seeds)


def _row(name: str, of_seeds: list[Record]) -> Record:
    row: Record = {"run": name, "seeds": len(of_seeds)}
    for task in of_seeds[0]:
        values = np.array([each[task] for each in of_seeds])
        row[task] = float(values.mean())
        if len(of_seeds) > 1:
            row[f"{task}_deviation"] = float(values.std())
    return row


def _values(pairs: EmbeddingPairs, seed: int, seeds: int) -> Record:
    rows: dict[str, list[int]] = {}
    for row, record in enumerate(pairs.records):
        if "task" not in record:
            raise UserError(
                f'the pair "{record["id"]}": field "task" is missing', "encode with --keep task"
            )
        rows.setdefault(str(record["task"]), []).append(row)
    values = {task: _value(task, pairs.taken(chosen), seed, seeds) for task, chosen in rows.items()}
    return {**values, "Score": float(np.mean(list(values.values())))}


def _value(task: str, pairs: EmbeddingPairs, seed: int, seeds: int) -> float:
    learning = [record.get("split") == TRAIN for record in pairs.records]
    if not any(learning):
        value = float(spearman(cosines(pairs.left, pairs.right), pairs.scores()))
        if np.isnan(value):
            raise UserError(f"{task}: all scores or all similarities are equal", "check the pairs")
        return 100 * value
    if all(learning):
        raise UserError(f"{task}: all pairs are of the training", "leave some to be tested")
    known, asked = (
        pairs.taken([row for row, each in enumerate(learning) if each is wanted])
        for wanted in (True, False)
    )
    sides = [(each.left, each.right, each.labels()) for each in (known, asked)]
    numbers = [seed + number for number in range(seeds)]
    return 100 * float(np.mean(classified(sides[0], sides[1], numbers)))
