"""Cross-entropy with words that are drawn, against that with all words."""

import numpy as np
import pytest
import torch

from structkit.errors import UserError
from structkit.learning.strae.losses import drawn_words, vocabulary_loss
from tests.learning.strae.samples import (
    WORDS,
    Method,
    difference,
    gradients,
    roundings,
    sample,
    tree_training,
)


def training(sentences, **values):
    quiet = {"embedding_dropout": 0.0, "composition_dropout": 0.0, "seed": 1}
    settings = Method(embedding_size=20, channels=5, objective="ce", **quiet, **values)
    return tree_training(settings, sentences).train()


@pytest.mark.parametrize("head", ["tied", "untied"])
def test_all_words_drawn_are_the_whole_vocabulary(head):
    _, sentences = sample(3, [5, 1, 4])
    exact, drawn = (training(sentences, head=head, ce_samples=each) for each in (0, WORDS))
    near = roundings(17)
    losses = exact.losses(sentences)["ce"], drawn.losses(sentences)["ce"]
    assert losses[0].item() == pytest.approx(losses[1].item(), abs=near)
    for want, got in zip(
        gradients(losses[0], list(exact.parameters())),
        gradients(losses[1], list(drawn.parameters())),
        strict=True,
    ):
        assert difference(want, got) <= near


def test_few_drawn_words_stand_for_the_others_in_the_mean():
    draw = torch.Generator().manual_seed(0)
    vectors, table = (
        torch.randn(rows, 4, generator=draw, dtype=torch.float64) for rows in (1, WORDS)
    )
    target, one = np.array([7], np.int32), torch.ones(1, dtype=torch.float64)
    exact = vocabulary_loss(vectors, table, None, torch.tensor([7]), one)
    found = []
    for seed in range(4000):
        chosen, excess = drawn_words(target, WORDS, 5, seed)
        assert 6 == len(set(chosen.tolist())) and 7 in chosen
        place = torch.from_numpy(np.searchsorted(chosen, target))
        bias = torch.from_numpy(excess).double()
        found.append(vocabulary_loss(vectors, table[chosen], bias, place, one).exp().item())
    error = np.std(found) / len(found) ** 0.5
    assert error < 0.02 * exact.exp().item()
    assert exact.exp().item() == pytest.approx(np.mean(found), abs=4 * error)


def test_held_out_records_are_compared_with_all_words():
    _, sentences = sample(4, [5, 3])
    few, all_ = (training(sentences, ce_samples=samples) for samples in (2, 0))
    assert few.losses(sentences)["ce"] != all_.losses(sentences)["ce"]
    assert few.eval().losses(sentences)["ce"] == all_.eval().losses(sentences)["ce"]


def test_words_are_drawn_for_cross_entropy_alone():
    with pytest.raises(UserError, match="--ce-samples is for cross-entropy") as error:
        Method(ce_samples=100)
    assert 2 == error.value.status
