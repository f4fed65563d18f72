"""Score classifiers trained on pairs of embeddings.

Tests: tests/scoring/test_score_tasks.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from structkit.commands.score.scored import Scored, task
from structkit.errors import UserError
from structkit.records.jsonl import Record
from structkit.records.lines import input_name


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


COMMAND = task(
    classification,
    Scored,
    "accuracy for `label` of classifiers that learn where `split` is `train`.",
)
