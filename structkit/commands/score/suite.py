"""Score models on a suite of tasks: a row for each model.

Tests: tests/scoring/test_suite.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from structkit.commands.score.scored import Compared, by_name, task
from structkit.errors import UserError
from structkit.records.jsonl import Record
from structkit.records.lines import input_name


def suite(settings: Compared) -> Iterator[Record]:
    """Yield one record per model: its value on every task, and their mean, `Score`.

    Each file holds pairs of all tasks: their field `task` names the task. If `split` is `train` for
    some pairs of a task, its value is the accuracy x 100 of classifiers that learn from these to
    predict the `label` (or `score`) of the others; otherwise Spearman x 100 of cosines and `score`.
    Names that differ only after an `@`, such as `strae@0` and `strae@1`, are one model, trained
    with several seeds: it gets means, and the deviation over the seeds (n - 1) in `TASK_deviation`.
    `TASK_low` and `TASK_high` are the ends of the 95 % interval over the test pairs, drawn with
    replacement. If classifiers learn, a last record, `majority`, has the accuracy of always
    choosing the most frequent label of the test pairs. With `compare`: one record per other model,
    compared model and task, with the difference on the same draws. Source: StrAE, table 3.
    """
    from structkit.scoring.suite import MAJORITY, Results, compare, read_results, summary

    # the compared model is one of the models
    others = [path for path in settings.compare if path not in settings.runs]
    files = by_name([*settings.runs, *others])
    results = {name: read_results(path, settings.seed) for name, path in files.items()}
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
            yield summary(name, seeded)
        for other in against:
            if other != name:
                yield from compare({"run": name, "against": other}, seeded, models[other])
    if majority and not against:
        yield {**summary(MAJORITY, [majority]), "seeds": 0}


COMMAND = task(suite, Compared, "all tasks of a file, named by `task`, a row for each model.")
