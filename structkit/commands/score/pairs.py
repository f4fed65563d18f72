"""Score pairs of embeddings: their similarities, a classifier trained on them, their space."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from structkit.commands.score import Settings
from structkit.embeddings.pairs import EmbeddingPairs, read_pairs
from structkit.errors import UserError, flag
from structkit.records.jsonl import Record
from structkit.records.lines import input_name
from structkit.scoring.classification import right_answers
from structkit.scoring.similarity import alignment, correlation, cosines, ends, uniformity

HIGH = 4.0  # gold scores above it make a positive pair, as in SimCSE on STS-B (arXiv 2104.08821)


def similarity(settings: Settings) -> Iterator[Record]:
    """One record for each file: Spearman x 100 of its pairs' cosines against the gold scores.

    `spearman_low` and `spearman_high` are the ends of the 95 % interval; `zero` counts pairs with
    an embedding of zeros, whose cosine is 0.
    """
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


def classification(settings: Settings) -> Iterator[Record]:
    """One record for each file of test pairs: accuracy x 100, mean and deviation over seeds.

    The standard deviation is over the seeds (n - 1), `majority` is the accuracy of always choosing
    the most frequent label.
    """
    files, train = settings.named_runs, settings.train
    if len(train) not in (1, len(files)):
        problem = f"{len(train)} files for {flag('train')} and {len(files)} to test"
        raise UserError(problem, "give one for each, or one for all", status=2)
    known = {path: read_pairs([path]) for path in dict.fromkeys(train)}
    each = train if len(train) > 1 else train * len(files)
    for (name, path), train_path in zip(files.items(), each, strict=True):
        learned, test = known[train_path], read_pairs([path])
        numbers = range(settings.seed, settings.seed + settings.seeds)
        try:
            right = right_answers(learned, test, numbers)
        except UserError as error:
            raise error.at(input_name(path)) from None
        accuracies, labels = right.mean(1), test.labels()
        yield {
            "run": name,
            "train": len(learned),
            "test": len(test),
            "classes": len(set(learned.labels())),
            "majority": 100 * max(map(labels.count, set(labels))) / len(labels),
            "accuracy": 100 * float(accuracies.mean()),
            "accuracy_deviation": 100 * float(accuracies.std(ddof=1)) if len(numbers) > 1 else 0.0,
        }


def space(settings: Settings) -> Iterator[Record]:
    """One record for each file: alignment of its positive pairs, uniformity of its embeddings.

    Positive are pairs with label 1 where they have labels, with a score above `HIGH` where they
    have scores, and all of them otherwise. Uniformity is over the distinct embeddings of both
    sides. Lower is better for both (Wang and Isola 2020).
    """
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
    if "label" in pairs.records[0]:
        return np.array([label in ("1", "True") for label in pairs.labels()])
    if "score" in pairs.records[0]:
        return np.asarray(pairs.scores() > HIGH)
    return np.ones(len(pairs), bool)
