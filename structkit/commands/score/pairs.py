"""Score pairs of embeddings: similarity, classification, space, and suites of the first two.

Tests: tests/scoring/test_score_tasks.py, tests/scoring/test_suite.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from structkit.commands.score.scored import Compared, Scored, by_name
from structkit.errors import UserError
from structkit.records.jsonl import Record

if TYPE_CHECKING:
    from structkit.embeddings.pairs import EmbeddingPairs

POSITIVE_SCORE = (
    4.0  # gold scores above it make a positive pair, as in SimCSE on STS-B (arXiv 2104.08821)
)


def score_files(
    work: Callable[[EmbeddingPairs, int], Record], settings: Scored
) -> Iterator[Record]:
    """Yield one record per file: the scores that `work` gives to its pairs, with the seed."""
    from structkit.embeddings.pairs import read_pairs

    for name, path in settings.named_runs.items():
        try:
            scores = work(read_pairs([path]), settings.seed)
        except UserError as error:
            raise error.at(path) from None
        yield {"run": name, **scores}


def similarity(pairs: EmbeddingPairs, seed: int) -> Record:
    """Return Spearman x 100 of the pairs' cosines and gold scores.

    `spearman_low` and `spearman_high` are the ends of the 95 % interval; `zero` counts pairs with
    an embedding of zeros, whose cosine is 0.
    """
    from structkit.scoring.similarity import correlation, cosines, interval_ends

    value, draws = correlation(cosines(pairs.left, pairs.right), pairs.scores(), seed)
    low, high = interval_ends(draws)
    zero = ~(pairs.left.any(1) & pairs.right.any(1))
    counts = {"pairs": len(pairs), "zero": int(zero.sum())}
    interval = {"spearman_low": 100 * low, "spearman_high": 100 * high}
    return {**counts, "spearman": 100 * value, **interval}


def classification(pairs: EmbeddingPairs, seed: int) -> Record:
    """Return the accuracy x 100 of the test pairs, mean and deviation over seeds.

    Classifiers learn from the pairs whose `split` is `train`. The standard deviation is over the
    seeds (n - 1), `majority` is the accuracy of always choosing the most frequent label.
    """
    from structkit.scoring.classification import right_answers, split_pairs

    train, test = split_pairs(pairs)
    accuracies, labels = right_answers(train, test, seed).mean(1), test.labels()
    return {
        "train": len(train),
        "test": len(test),
        "classes": len(set(train.labels())),
        "majority": 100 * max(map(labels.count, set(labels))) / len(labels),
        "accuracy": 100 * float(accuracies.mean()),
        "accuracy_deviation": 100 * float(accuracies.std(ddof=1)),
    }


def space(pairs: EmbeddingPairs, seed: int) -> Record:
    """Return the alignment of positive pairs and the uniformity of embeddings.

    Positive are pairs with label 1 where they have labels, with a score above `POSITIVE_SCORE`
    where they have scores, and all of them otherwise. Uniformity is over the distinct embeddings of
    both sides. Lower is better for both (Wang and Isola 2020).
    """
    import numpy as np

    from structkit.scoring.similarity import alignment, uniformity

    if "label" in pairs.records[0]:
        positive = np.array([label in ("1", "True") for label in pairs.labels()])
    elif "score" in pairs.records[0]:
        positive = pairs.scores() > POSITIVE_SCORE
    else:
        positive = np.ones(len(pairs), bool)
    both = np.unique(np.concatenate([pairs.left, pairs.right]), axis=0)
    if not positive.any() or len(both) < 2:
        lack = "different embeddings" if positive.any() else "positive pairs"
        raise UserError(f"there are no {lack}", "give more pairs")
    return {
        "positives": int(positive.sum()),
        "embeddings": len(both),
        "alignment": alignment(pairs.left[positive], pairs.right[positive]),
        "uniformity": uniformity(both),
    }


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
    from structkit.scoring.suite import MAJORITY, TaskResults, compare_models, read_results, summary

    # the compared model is one of the models
    others = [path for path in settings.compare if path not in settings.runs]
    files = by_name([*settings.runs, *others])
    results = {name: read_results(path, settings.seed) for name, path in files.items()}
    first, majority = next(iter(results.values()))
    models: dict[str, list[TaskResults]] = {}
    for name, (found, _) in results.items():
        if first.keys() != found.keys():
            raise UserError(
                f"has the tasks {', '.join(found)}, not {', '.join(first)}",
                "score all models on the same pairs",
            ).at(files[name])
        models.setdefault(name.partition("@")[0], []).append(found)
    compared = (name for name, path in files.items() if path in settings.compare)
    against = list(dict.fromkeys(name.partition("@")[0] for name in compared))
    for name, seeded in models.items():
        if not against:
            yield summary(name, seeded)
        for other in against:
            if other != name:
                yield from compare_models({"run": name, "against": other}, seeded, models[other])
    if majority and not against:
        yield {**summary(MAJORITY, [majority]), "seeds": 0}
