"""IORNN and Tree-LSTM against plain versions of one node at a time, and through the program."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from structkit import registry
from structkit.learning.strae.baselines import IORNN, TreeLSTM
from structkit.learning.strae.sentences import Sentence, Sentences
from structkit.learning.strae.training import StraeTraining
from structkit.learning.strae.vocabulary import Vocabulary
from tests.learning.strae.reference_baselines import (
    REFERENCES,
    contrastive,
    cross_entropy,
    depths,
    leaves,
)
from tests.tolerances import rounding

WORDS, SIZE = 7, 6
MODELS = {"iornn": IORNN, "tree-lstm": TreeLSTM}
TREES = st.recursive(st.integers(0, WORDS - 1), lambda child: st.tuples(child, child), max_leaves=9)


def sentence(tree):
    return Sentence(np.array(leaves(tree), np.int32), np.array(depths(tree), np.int32))


def model_of(name, size=SIZE):
    torch.manual_seed(0)
    model = MODELS[name](WORDS, size, 1.0).double()
    with torch.no_grad():
        for weight in model.parameters():
            weight.uniform_(-1, 1)  # biases that start at 0 would hide a mistake
    return model


def slow(name, trees, model):
    return [REFERENCES[name](tree, dict(model.named_parameters())) for tree in trees]


def roundings(nodes, scale=1.0):
    """For each node a sum over its children's numbers, none beyond 1; scores have a scale."""
    return rounding(2 * SIZE * nodes, scale, torch.float64)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=25, deadline=None)
@given(trees=st.lists(TREES, min_size=1, max_size=4))
def test_embeddings_losses_and_gradients_equal_the_plain_version(name, trees):
    model = model_of(name).eval()
    batch, up, down = model.both_ways([sentence(tree) for tree in trees])
    roots = slow(name, trees, model)
    # the batch has all roots first, then all nodes of depth 1, each sentence after the other
    order = by_depth(roots)
    assert len(order) == batch.nodes
    near = roundings(len(order))
    torch.testing.assert_close(up, torch.stack([node.up for node in order]), **near)
    torch.testing.assert_close(down, torch.stack([node.down for node in order]), **near)

    weights = list(model.parameters())
    inputs = [sentence(tree) for tree in trees]
    for objective in ("contrastive", "ce"):
        training = training_of(name, model, objective)
        nodes = [node for node in order if objective == "ce" or in_a_tree(node, roots)]
        if not nodes:
            continue
        theirs = (
            contrastive(nodes, 0.2)
            if objective == "contrastive"
            else cross_entropy(roots, dict(model.named_parameters()))
        )
        ours = training.loss([inputs])[0]
        near = roundings(len(order), 1 / training.settings.temperature)
        torch.testing.assert_close(ours, theirs, **near)
        expected = torch.autograd.grad(theirs, weights, retain_graph=True, allow_unused=True)
        found = torch.autograd.grad(ours, weights, allow_unused=True)
        for one, other, weight in zip(expected, found, weights, strict=True):
            zeros = torch.zeros_like(weight)
            one, other = (zeros if each is None else each for each in (one, other))
            torch.testing.assert_close(other, one, **near)


def by_depth(roots):
    level, found = list(roots), []
    while level:
        found += level
        level = [child for node in level for child in node.children]
    return found


def in_a_tree(node, roots):
    """A sentence of one word is left out of the contrastive loss."""
    return bool(node.children) or not any(node is root for root in roots)


def training_of(name, model, objective):
    chosen = registry.load("method", name)(
        objective=objective, embedding_size=SIZE, embedding_dropout=0.0, composition_dropout=0.0
    )
    vocabulary = Vocabulary([str(number) for number in range(WORDS)], lowercase=True)
    return StraeTraining(chosen, model, vocabulary, Sentences([])).eval()


@pytest.mark.parametrize("name", MODELS)
def test_gradients_pass_gradcheck(name):
    model = model_of(name, size=2)
    inputs = [sentence(((0, 1), (2, 0))), sentence(1)]

    def outputs(*weights):
        values = dict(zip((each for each, _ in model.named_parameters()), weights, strict=True))
        _, up, down = torch.func.functional_call(model, values, (inputs,))
        return up, down

    model.forward = model.both_ways
    weights = [weight.detach().requires_grad_() for weight in model.parameters()]
    assert torch.autograd.gradcheck(outputs, weights, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_a_sentence_does_not_depend_on_its_batch(name):
    model = model_of(name).eval()
    deep = 0
    for word in range(300):
        deep = (deep, word % WORDS)
    trees = [((0, 1), 2), deep, 4, (5, (1, (2, 3)))]
    together = model.both_ways([sentence(tree) for tree in trees])[1][: len(trees)]
    for place, tree in enumerate(trees):
        alone = model.both_ways([sentence(tree)])[1][0]
        torch.testing.assert_close(together[place], alone, **roundings(2 * len(leaves(tree))))


def test_parameters_without_embeddings():
    def count(model):
        return sum(weight.numel() for weight in model.parameters()) - model.embedding.numel()

    assert 40_400 == count(IORNN(5, 100, 0.1))  # StrAE, table 5
    assert 210_600 == count(TreeLSTM(5, 100, 0.1))
    # the published 260,600 is the cell that goes up, counted for both ways
    up = sum(
        weight.numel()
        for name, weight in TreeLSTM(5, 100, 0.1).named_parameters()
        if name in ("read.weight", "compose.weight", "forget.weight", "bias")
    )
    assert 260_600 == 2 * up
    assert 50_000 == 260_600 - 210_600 == 3 * 100**2 + 2 * 100**2


def test_dropout_is_for_training_only_and_keeps_cells():
    tree = [sentence(((0, 1), (2, 3)))]
    for name in MODELS:
        model = model_of(name)
        torch.manual_seed(1)
        first = model.train().both_ways(tree, 0.5, 0.5)[1]
        second = model.both_ways(tree, 0.5, 0.5)[1]
        assert not torch.equal(first, second)
        assert (first[0] == 0).any() or (second[0] == 0).any()
        model.eval()
        assert torch.equal(model.both_ways(tree, 0.5, 0.5)[1], model.both_ways(tree)[1])
