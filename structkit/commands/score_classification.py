"""Score frozen embeddings of pairs by a classifier that is trained on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from structkit.errors import UserError
from structkit.jsonl import Record, shown
from structkit.learning.classification import accuracies, features
from structkit.retrieval.embedding_pairs import EmbeddingPairs, read_pairs

SEEDS = 5


def classification(
    files: Mapping[str, str], train: Sequence[str], *, seed: int = 0, seeds: int = SEEDS
) -> Iterator[Record]:
    """One record for each file of test pairs: accuracy x 100, mean and deviation over seeds.

    `train` is one file of pairs for all tests, or one for each. The deviation is that of the
    population of seeds, `majority` what the most frequent label alone would reach.
    """
    if len(train) not in (1, len(files)):
        raise UserError(
            f"{len(train)} files for --train and {len(files)} to test",
            "give one --train for each, or one for all",
            status=2,
        )
    if seeds < 1:
        raise UserError("--seeds must be at least 1", status=2)
    known = {path: read_pairs([path]) for path in dict.fromkeys(train)}
    each = train if len(train) > 1 else [*train] * len(files)
    for (name, path), train_path in zip(files.items(), each, strict=True):
        learned, test = known[train_path], read_pairs([path])
        if learned.left.shape[1] != test.left.shape[1]:
            raise UserError(
                f"has {test.left.shape[1]} dimensions, {train_path} has {learned.left.shape[1]}",
                "encode both with one model",
            ).at(shown(path))
        classes = sorted(set(learned.labels()))
        answers = _numbers(test, classes)
        found = torch.tensor(
            accuracies(
                (_features(learned), _numbers(learned, classes)),
                (_features(test), answers),
                [seed + number for number in range(seeds)],
            )
        )
        yield {
            "run": name,
            "train": len(learned),
            "test": len(test),
            "classes": len(classes),
            "majority": 100 * max(map(answers.count, set(answers))) / len(answers),
            "accuracy": 100 * float(found.mean()),
            "accuracy_deviation": 100 * float(found.std(correction=0)),
        }


def _features(pairs: EmbeddingPairs) -> Tensor:
    return features(torch.from_numpy(pairs.left), torch.from_numpy(pairs.right))


def _numbers(pairs: EmbeddingPairs, classes: Sequence[str]) -> list[int]:
    places = {label: place for place, label in enumerate(classes)}
    labels = pairs.labels()
    if len(classes) < 2:
        raise UserError(f'all labels are "{classes[0]}"', "train with two classes or more").at(
            pairs.file
        )
    strange = next((label for label in labels if label not in places), None)
    if strange is not None:
        raise UserError(
            f'label "{strange}" is none of the training pairs ({", ".join(classes)})',
            "test on the labels that were trained",
        ).at(pairs.file)
    return [places[label] for label in labels]
