"""Banyan: entangled trees in levels over a batch against one node at a time; the command."""

import random

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from structkit_plugins.papers.methods._banyan import BanyanTraining, pair_keys

from structkit import parse_trees, registry
from structkit.learning.strae.sentences import Sentence
from structkit.structure.trees.brackets import read_tree
from tests.learning.strae import samples
from tests.papers.reference_banyan import Plain
from tests.tolerances import rounding

WORDS = 12
Method = registry.load("method", "banyan")


def training(**changes):
    """A training of the method in float64."""
    method = Method(**{"embedding_size": 12, "channels": 4, "batch_size": 64} | changes)
    model = samples.wide(method.make_model(WORDS)).double()
    with torch.no_grad():
        for name in ("compose_bias", "decompose_bias"):
            getattr(model, name).uniform_(-0.3, 0.3)
    return BanyanTraining(method, model, samples.vocabulary(WORDS))


def drawn(seed, lengths):
    draw = random.Random(seed)
    return [[draw.randrange(WORDS) for _ in range(length)] for length in lengths]


def numbers(sentences):
    return [Sentence(np.array(words, np.int32), np.zeros(0, np.int32)) for words in sentences]


def plain(model):
    named = model.named_parameters()
    return {name: weight.detach().clone().requires_grad_() for name, weight in named}


batches = st.lists(st.integers(1, 12), min_size=1, max_size=6)


@given(st.integers(0, 1 << 30), batches)
def test_loss_and_gradients_equal_the_plain_version(seed, lengths):
    sentences = drawn(seed, lengths)
    fast = training(seed=seed).eval()
    parameters = plain(fast.model)
    expected = Plain(parameters, 4).loss(sentences)
    found, _ = samples.loss_of(fast, [numbers(sentences)])
    ours = list(fast.model.parameters())
    samples.check_gradients(
        expected, found, [*parameters.values()], ours, samples.roundings(2 * sum(lengths))
    )


def test_no_pair_of_words_has_the_key_of_a_word_or_of_another_pair():
    words = pair_keys(torch.arange(1000), torch.zeros(1000, dtype=torch.int64))
    keys = torch.cat([words, pair_keys(words[:, None], words).flatten()])
    assert len(keys) == len(keys.unique())


@settings(max_examples=10)
@given(st.integers(0, 1 << 30), batches)
def test_dropout_is_once_for_each_node_and_known_to_the_merging(seed, lengths):
    sentences = drawn(seed, lengths)
    fast = training(seed=seed)
    model = fast.model.train()
    torch.manual_seed(seed)
    model.dropouts = (0.3, 0.3)
    batch, graph, up, _ = model.entangle(numbers(sentences))
    pairs = torch.stack([graph.left, graph.right], 1).tolist()
    nodes = list(graph.ids.tolist())  # as the plain version has them
    for left, right in pairs:
        nodes.append((nodes[left], nodes[right]))
    assert len(set(nodes)) == len(nodes)
    weights = plain(model)
    noise = {}
    for place, node in enumerate(nodes):
        whole = Plain(weights, 4)
        if place >= len(graph.ids):
            whole.ups = {nodes[child]: up[child] for child in pairs[place - len(graph.ids)]}
        noise[node] = (up[place] / whole.up(node)).detach()
    values = torch.stack(list(noise.values()))
    kept = values[values != 0]
    share = 2**-16  # to which dropout is rounded
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / 0.7), rtol=share, atol=0)
    # merging has seen the same factors: else it would meet a pair that has none
    again = Plain(weights, 4, noise.__getitem__)
    roots = [nodes[number] for number in graph.node[: batch.sentences].tolist()]
    with torch.no_grad():
        assert roots == [again.greedy(words) for words in sentences]


def test_a_batch_in_portions_is_the_mean_over_their_tokens():
    sentences = drawn(3, [9, 4, 7])
    fast = training().eval()
    whole = [fast.losses(numbers([words]))["ce"] for words in sentences]
    tokens = [len(set(words)) for words in sentences]
    found, _ = samples.loss_of(fast, [numbers([words]) for words in sentences])
    expected = sum(loss * count for loss, count in zip(whole, tokens, strict=True)) / sum(tokens)
    assert samples.difference(expected, found) <= samples.roundings(2 * len(sum(sentences, [])))


def test_a_trained_model_gives_the_same_in_any_batch_and_trees(tmp_path):
    lines = ["The cat sleeps on the mat.", "A dog barks.", "Stop", "The dog (a cat) sleeps, and."]
    small = {"epochs": 2, "batch_size": 8, "embedding_size": 20, "channels": 10}
    encoder = samples.trained("banyan", tmp_path / "model", lines * 6, **small)
    texts = ["The cat sleeps.", "The cat", "A dog sleeps on the mat.", "cat"]
    with torch.inference_mode():
        whole = encoder.model.both_ways(encoder.inputs(texts))
        for place, text in enumerate(texts):
            alone = encoder.model.both_ways(encoder.inputs([text]))
            rows = whole[0].sentence == place
            for one, other in zip(whole[1:], alone[1:], strict=True):
                near = rounding(len(other), other.abs().max().item())
                torch.testing.assert_close(one[rows], other, **near)
        roots = slice(0, len(texts))
        assert torch.equal(whole[1][roots], whole[2][roots])  # one is a copy

    parsing = {"parser": "self-strae", "model": tmp_path / "model"}
    (record,) = parse_trees([{"id": "1", "text": "The cat sleeps."}], **parsing)
    tree = read_tree(record["tree"])
    assert ("The", "cat", "sleeps", ".") == tree.words and tree.is_binary
