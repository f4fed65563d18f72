"""IORNN and Tree-LSTM against plain versions of one node at a time."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from structkit import registry
from structkit.learning.strae.sentences import Sentence
from structkit.learning.strae.training import StraeTraining
from tests.learning.strae import samples
from tests.learning.strae.reference_strae import contrastive, cross_entropy
from tests.papers.reference_baselines import REFERENCES
from tests.tolerances import rounding

WORDS, SIZE = 7, 6
MODELS = ("iornn", "tree-lstm")
TREES = st.recursive(st.integers(0, WORDS - 1), lambda child: st.tuples(child, child), max_leaves=9)


def leaves(tree):
    return [tree] if isinstance(tree, int) else [leaf for child in tree for leaf in leaves(child)]


def sentence(tree):
    return Sentence(np.array(leaves(tree), np.int32), np.array(samples.depths(tree), np.int32))


def model_of(name, size=SIZE):
    model = registry.load("method", name)(embedding_size=size).make_model(WORDS).double()
    with torch.no_grad():
        for weight in model.parameters():
            weight.uniform_(-1, 1)  # biases that start at 0 would hide a mistake
    return model


def roundings(nodes, scale=1.0):
    """For each node a sum over its children's numbers, none beyond 1; scores have a scale."""
    return rounding(2 * SIZE * nodes, scale, torch.float64)


@pytest.mark.parametrize("name", MODELS)
@given(trees=st.lists(TREES, min_size=1, max_size=4))
def test_embeddings_losses_and_gradients_equal_the_plain_version(name, trees):
    model = model_of(name).eval()
    inputs, values = [sentence(tree) for tree in trees], dict(model.named_parameters())
    batch, up, down = model.both_ways(inputs)
    roots = [REFERENCES[name](tree, values) for tree in trees]
    order = samples.in_batch_order(batch, roots)
    near = roundings(len(order))
    torch.testing.assert_close(up, torch.stack([node.up for node in order]), **near)
    torch.testing.assert_close(down, torch.stack([node.down for node in order]), **near)

    near = roundings(len(order), 5.0)["atol"]
    expected = {"ce": torch.stack([cross_entropy(root, values) for root in roots]).mean()}
    # a sentence of one word is left out of the contrastive loss
    if nodes := [node for root in roots if root.children for node in root.all()]:
        expected["contrastive"] = contrastive(nodes, 5.0)
    for objective, loss in expected.items():
        chosen = registry.load("method", name)(objective=objective, embedding_size=SIZE)
        training = StraeTraining(chosen, model, samples.vocabulary(WORDS)).eval()
        found, _ = samples.loss_of(training, [inputs])
        samples.check_gradients(
            loss, found, list(model.parameters()), list(model.parameters()), near
        )


@pytest.mark.parametrize("name", MODELS)
def test_dropout_is_for_training_only(name):
    tree, model = [sentence(((0, 1), (2, 3)))], model_of(name)
    model.dropouts = (0.5, 0.5)
    torch.manual_seed(1)
    first, second = (model.train().both_ways(tree)[1] for _ in range(2))
    assert not torch.equal(first, second)
    assert (first[0] == 0).any() or (second[0] == 0).any()
    model.eval()
    assert torch.equal(model.both_ways(tree)[1], model.both_ways(tree)[1])
