"""Score pairs of embeddings: similarity, classification, space, and suites of the first two.

Tests: tests/scoring/test_score_tasks.py, tests/scoring/test_suite.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from structkit.commands.score.scored import Compared, Scored, by_name
from structkit.errors import UserError
from structkit.records.jsonl import Record, input_name

if TYPE_CHECKING:
    import numpy as np

    from structkit.embeddings.pairs import EmbeddingPairs

HIGH = 4.0  # gold scores above it make a positive pair, as in SimCSE on STS-B (arXiv 2104.08821)


def similarity(settings: Scored) -> Iterator[Record]:
    """Yield one record per file: Spearman x 100 of its pairs' cosines and gold scores.

    `spearman_low` and `spearman_high` are the ends of the 95 % interval; `zero` counts pairs with
    an embedding of zeros, whose cosine is 0.
    """
    from structkit.embeddings.pairs import read_pairs
    from structkit.scoring.similarity import correlation, cosines, ends

    for name, path in settings.named_runs.items():
        pairs = read_pairs([path])
        gold = pairs.scores()
        try:
            value, draws = correlation(cosines(pairs.left, pairs.right), gold, settings.seed)
        except UserError as error:
            raise error.at(input_name(path)) from None
        low, high = ends(draws)
        zero = ~(pairs.left.any(1) & pairs.right.any(1))
        counts = {"pairs": len(pairs), "zero": int(zero.sum())}
        interval = {"spearman_low": 100 * low, "spearman_high": 100 * high}
        yield {"run": name, **counts, "spearman": 100 * value, **interval}


def classification(settings: Scored) -> Iterator[Record]:
    """Yield one record per file: accuracy x 100 of its test pairs, mean and deviation over seeds.

    Classifiers learn from the pairs whose `split` is `train`. The standard deviation is over the
    seeds (n - 1), `majority` is the accuracy of always choosing the most frequent label.
    """
    from structkit.embeddings.pairs import read_pairs
    from structkit.scoring.classification import halves, right_answers

    for name, path in settings.named_runs.items():
        pairs = read_pairs([path])
        try:
            train, test = halves(pairs)
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


def space(settings: Scored) -> Iterator[Record]:
    """Yield one record per file: alignment of positive pairs, uniformity of embeddings.

    Positive are pairs with label 1 where they have labels, with a score above `HIGH` where they
    have scores, and all of them otherwise. Uniformity is over the distinct embeddings of both
    sides. Lower is better for both (Wang and Isola 2020).
    """
    import numpy as np

    from structkit.embeddings.pairs import read_pairs
    from structkit.scoring.similarity import alignment, uniformity

    for name, path in settings.named_runs.items():
        pairs = read_pairs([path])
        positive = _positive(pairs)
        both = np.unique(np.concatenate([pairs.left, pairs.right]), axis=0)
        if not positive.any() or len(both) < 2:
            lack = "different embeddings" if positive.any() else "positive pairs"
            raise UserError(f"there are no {lack}", "give more pairs").at(input_name(path))
        yield {
            "run": name,
            "positives": int(positive.sum()),
            "embeddings": len(both),
            "alignment": alignment(pairs.left[positive], pairs.right[positive]),
            "uniformity": uniformity(both),
        }


def _positive(pairs: EmbeddingPairs) -> np.ndarray:
    import numpy as np

    if "label" in pairs.records[0]:
        return np.array([label in ("1", "True") for label in pairs.labels()])
    if "score" in pairs.records[0]:
        return np.asarray(pairs.scores() > HIGH)
    return np.ones(len(pairs), bool)


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
