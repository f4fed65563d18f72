"""A classifier of pairs over frozen embeddings: one hidden layer of 512 Tanh units.

Tests: tests/scoring/test_score_tasks.py.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from structkit.embeddings.pairs import EmbeddingPairs
from structkit.errors import UserError
from structkit.learning.training.devices import fastest_matmul, matmul
from structkit.reproducibility import key

TRAIN_SPLIT = "train"
HIDDEN_UNITS = 512  # StrAE, section 3
LEARNING_RATE = 1e-3
PAIRS_PER_BATCH = 64
MAX_EPOCHS = 30
PATIENCE_EPOCHS = 5  # epochs without a better held-out accuracy
CLASSIFIER_COUNT = 5
HELD_OUT_SHARE = 0.1  # share of the training pairs that chooses the epoch


def pair_features(left: Tensor, right: Tensor) -> Tensor:
    """Return the classifier's input: both sides, distance and product, (pairs, 4 dim).

    Source: Wang et al. 2019, GLUE, whose setup StrAE follows (section 3): [u; v; |u - v|; u * v].

    >>> pair_features(torch.tensor([[1.0]]), torch.tensor([[3.0]])).tolist()
    [[1.0, 3.0, 2.0, 3.0]]
    """
    return torch.cat([left, right, (left - right).abs(), left * right], dim=1)


def split_pairs(pairs: EmbeddingPairs) -> tuple[EmbeddingPairs, EmbeddingPairs]:
    """Return the training pairs and the test pairs."""
    learning = [record.get("split") == TRAIN_SPLIT for record in pairs.records]
    if all(learning) or not any(learning):
        which = "for training" if all(learning) else 'to test: none has "split": "train"'
        raise UserError(f"all pairs are {which}", "give pairs of both kinds")
    rows = range(len(learning))
    train, test = ([row for row in rows if learning[row] is part] for part in (True, False))
    return pairs.take(train), pairs.take(test)


def right_answers(train: EmbeddingPairs, test: EmbeddingPairs, seed: int) -> NDArray[np.bool_]:
    """Return which test pairs each of five classifiers gets right, (seeds, pairs).

    Errors: labels that are all equal, or in the test pairs alone.
    """
    known, asked = train.labels(), test.labels()
    classes = {label: number for number, label in enumerate(sorted(set(known)))}
    if len(classes) < 2:
        raise UserError(f'all labels are "{known[0]}"', "train with two classes or more")
    strange = next((label for label in asked if label not in classes), None)
    if strange is not None:
        raise UserError(
            f'label "{strange}" is not among the training pairs\' ({", ".join(classes)})',
            "test on the labels that were trained",
        )
    inputs = [
        pair_features(torch.from_numpy(each.left), torch.from_numpy(each.right))
        for each in (train, test)
    ]
    numbers = [[classes[label] for label in labels] for labels in (known, asked)]
    seeds = range(seed, seed + CLASSIFIER_COUNT)
    return classify((inputs[0], numbers[0]), (inputs[1], numbers[1]), seeds)


def classify(
    train: tuple[Tensor, Sequence[int]], test: tuple[Tensor, Sequence[int]], seeds: Sequence[int]
) -> NDArray[np.bool_]:
    """Return which test pairs are classified correctly, (seeds, pairs).

    Features are standardized with mean and deviation of the training pairs, so that the norm of a
    model's embeddings does not matter; a tenth of the training pairs chooses the epoch, as GLUE
    does with its development set. Adam, learning rate 1e-3, batch 64, at most 30 epochs.
    """
    inputs, labels = train[0].double(), torch.tensor(train[1])
    mean, deviation = inputs.mean(0), inputs.std(0, correction=0)  # (features,)
    scale = torch.where(deviation > 1e-12, deviation, torch.ones_like(deviation))
    inputs, others = (((each - mean) / scale).float() for each in (inputs, test[0].double()))
    answers = torch.tensor(test[1])
    with matmul(fastest_matmul()):
        models = [_train_classifier(inputs, labels, seed) for seed in seeds]
        with torch.inference_mode():
            return np.stack([(model(others).argmax(1) == answers).numpy() for model in models])


def _train_classifier(inputs: Tensor, labels: Tensor, seed: int) -> nn.Module:
    torch.manual_seed(key(seed, "classifier") >> 1)
    generator = np.random.default_rng(key(seed, "held out"))
    order = torch.from_numpy(generator.permutation(len(inputs)))
    cut = round(HELD_OUT_SHARE * len(order))
    held_out, learned = order[:cut] if cut else order, order[cut:]
    classes = int(labels.max()) + 1
    model = nn.Sequential(
        nn.Linear(inputs.shape[1], HIDDEN_UNITS), nn.Tanh(), nn.Linear(HIDDEN_UNITS, classes)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    best, weights, waited = -1.0, model.state_dict(), 0
    for _ in range(MAX_EPOCHS):
        for batch in torch.split(learned[torch.randperm(len(learned))], PAIRS_PER_BATCH):
            optimizer.zero_grad(set_to_none=True)
            loss = functional.cross_entropy(model(inputs[batch]), labels[batch])
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        with torch.no_grad():
            is_right = model(inputs[held_out]).argmax(1) == labels[held_out]
        accuracy = float(is_right.double().mean())
        waited += 1
        if accuracy > best:
            best, waited = accuracy, 0
            weights = {name: value.clone() for name, value in model.state_dict().items()}
        if waited >= PATIENCE_EPOCHS:
            break
    model.load_state_dict(weights)
    return model
