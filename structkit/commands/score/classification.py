"""Score frozen embeddings of pairs with a classifier that is trained on them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from structkit.commands.score.settings import Settings
from structkit.embeddings.pairs import EmbeddingPairs, read_pairs
from structkit.errors import UserError, flag
from structkit.records.jsonl import Record
from structkit.records.lines import shown
from structkit.scoring.classification import Side, classified


def scored(settings: Settings) -> Iterator[Record]:
    """One record for each file of test pairs: accuracy x 100, mean and deviation over seeds.

    The standard deviation is over the seeds (n - 1), `majority` is the accuracy of always choosing
    the most frequent label.
    """
    files, train = settings.named, settings.train
    if len(train) not in (1, len(files)):
        raise UserError(
            f"{len(train)} files for {flag('train')} and {len(files)} to test",
            "give one for each, or one for all",
            status=2,
        )
    known = {path: read_pairs([path]) for path in dict.fromkeys(train)}
    each = train if len(train) > 1 else train * len(files)
    for (name, path), train_path in zip(files.items(), each, strict=True):
        learned, test = known[train_path], read_pairs([path])
        numbers = [settings.seed + number for number in range(settings.seeds)]
        try:
            accuracies = np.array(classified(_side(learned), _side(test), numbers))
        except UserError as error:
            raise error.at(shown(path)) from None
        labels = test.labels()
        yield {
            "run": name,
            "train": len(learned),
            "test": len(test),
            "classes": len(set(learned.labels())),
            "majority": 100 * max(map(labels.count, set(labels))) / len(labels),
            "accuracy": 100 * float(accuracies.mean()),
            "accuracy_deviation": 100 * float(accuracies.std(ddof=1)) if len(numbers) > 1 else 0.0,
        }


def _side(pairs: EmbeddingPairs) -> Side:
    return pairs.left, pairs.right, pairs.labels()
