"""StrAE: the batched model against a recursive one in float64."""

import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import normalize

from structkit import registry
from structkit.learning.strae.batches import TreeBatch
from structkit.learning.strae.losses import ScoreBlocks, contrastive_loss
from structkit.learning.strae.sentences import Sentence
from structkit.learning.training.autograd import vocabulary_loss
from tests.learning.strae import reference_strae as reference
from tests.learning.strae.samples import (
    WORDS,
    check_gradients,
    difference,
    in_batch_order,
    model,
    plain,
    roundings,
    sample,
)
from tests.tolerances import bound, rounding


def test_composition_may_start_as_a_sum():
    method = registry.load("method", "strae")
    words = method(embedding_size=6, channels=2, composition_init="sum").make_model(WORDS).eval()
    tree = Sentence(np.array([3, 1, 2], np.int32), np.array([1, 2, 2], np.int32))
    batch, up, down = words.both_ways([tree])
    first, second, third = words.embedding[[3, 1, 2]]
    half = (second + third) / 2**0.5
    root = (first + half) / 2**0.5
    near = rounding(2 * 6, words.embedding.abs().max().item())  # of six numbers, twice
    torch.testing.assert_close(up, torch.stack([root, first, half, second, third]), **near)
    part = root / 2**0.5
    expected = torch.stack([root, part, part, part / 2**0.5, part / 2**0.5])
    torch.testing.assert_close(down, expected, **near)


def losses(model, sentences, scale, *, mask_duplicates=False):
    """Both losses of the fast version."""
    batch, up, down = model.both_ways(sentences)
    chosen = slice(None) if batch.in_trees is None else batch.in_trees
    same = batch.same[chosen] if mask_duplicates else None
    contrastive = contrastive_loss(up[chosen], down[chosen], scale, same)
    lengths = torch.from_numpy(batch.lengths).to(down)[batch.sentence[batch.leaves]]
    weights = 1 / (lengths * batch.sentences)
    head = (model.head.weight, model.head.bias) if model.head else (model.embedding, None)
    return contrastive, vocabulary_loss(down[batch.leaves], *head, batch.ids, weights)


def check(fast, sentences, roots, values, scale, dtype, **masking):
    """Embeddings, losses and all gradients are those of the reference's trees."""
    batch, up, down = fast.both_ways(sentences)
    nodes = in_batch_order(batch, roots)
    near = roundings(batch.nodes, scale, dtype)
    assert difference(torch.stack([node.up.reshape(-1) for node in nodes]), up) <= near
    assert difference(torch.stack([node.down.reshape(-1) for node in nodes]), down) <= near
    each = [reference.cross_entropy(root, values) for root in roots]
    inner = [node for root in roots if root.children for node in root.all()]
    expected = reference.contrastive(inner, scale, **masking), torch.stack(each).mean()
    wanted = [weight for name, weight in values.items() if name != "channels"]
    for one, other in zip(expected, losses(fast, sentences, scale, **masking), strict=True):
        check_gradients(one, other, wanted, list(fast.parameters()), near)


def check_sample(seed, lengths, shapes, scale, dtype, *, untied=False, **masking):
    trees, sentences = sample(seed, lengths, shapes)
    fast = model(seed, untied=untied, dtype=dtype)
    values = plain(fast)
    roots = [
        reference.both_ways(tree, sentence.ids.tolist(), values)
        for tree, sentence in zip(trees, sentences, strict=True)
    ]
    check(fast, sentences, roots, values, scale, dtype, **masking)


SHAPES = ("right", "left", "balanced", "random")


@settings(max_examples=15)
@given(
    seed=st.integers(0, 1 << 30),
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=6).filter(lambda some: max(some) > 1),
    temperature=st.sampled_from([0.03, 0.2, 0.6, 5.0]),
    dtype=st.sampled_from([torch.float64, torch.float32]),
    untied=st.booleans(),
    mask=st.booleans(),
)
def test_embeddings_losses_and_gradients_agree(seed, lengths, temperature, dtype, untied, mask):
    # a score of 33 has only 5 digits after the point in float32
    temperature = temperature if dtype == torch.float64 else max(temperature, 0.2)
    check_sample(seed, lengths, SHAPES, 1 / temperature, dtype, untied=untied, mask_duplicates=mask)


@pytest.mark.parametrize(
    "shape", [pytest.param(each, marks=[pytest.mark.long] * (each != "random")) for each in SHAPES]
)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_long_sentences_agree(shape, dtype):
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)  # the reference goes down 200 levels
    try:
        check_sample(1, [200, 1, 40, 2], (shape,), 5.0, dtype)
    finally:
        sys.setrecursionlimit(limit)


def test_gradients_with_dropout_and_of_short_vectors_pass_gradcheck():
    torch.manual_seed(0)
    _, sentences = sample(2, [1, 4, 5])
    fast = model(2, size=6, channels=3)
    batch = TreeBatch.of(sentences)
    noise = torch.rand(len(batch.inner), 6, dtype=torch.float64)
    double = torch.rand(len(batch.inner), 12, dtype=torch.float64)
    leaves = torch.randn(len(batch.ids), 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: fast.upward(batch, x, noise), leaves)
    roots = torch.randn(3, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: fast.downward(batch, x, double), roots)


@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (10, 25_000)])
def test_extreme_scores_stay_finite(shape):
    tokens, words = shape
    vectors = torch.full((tokens, 4), 300.0, requires_grad=True)
    table = torch.full((words, 4), 300.0, requires_grad=True)
    with torch.no_grad():
        table[0] = -300
    targets = torch.zeros(tokens, dtype=torch.int64)
    loss = vocabulary_loss(vectors, table, None, targets, torch.ones(tokens) / tokens)
    loss.backward()
    expected = 720_000 + np.log(words - 1) if words > 1 else 0
    assert loss.item() == pytest.approx(expected, abs=bound(4 + tokens, expected))
    assert vectors.grad.isfinite().all() and table.grad.isfinite().all()


def test_the_same_in_several_blocks_and_recomputed():
    torch.manual_seed(0)
    count, scale = 900, 5.0  # more scores than a block has
    up, down = (normalize(torch.randn(count, 6, dtype=torch.float64)) for _ in range(2))
    leaves = [part.clone().requires_grad_() for part in (up, down)]
    scores = leaves[0] @ leaves[1].T * scale
    both = scores.logsumexp(1) + scores.logsumexp(0) - 2 * scores.diagonal()
    expected = torch.autograd.grad(both.mean() / 2, leaves)
    for keep in (True, False):
        blocks = ScoreBlocks(up, down, scale, None, keep=keep)
        assert 2 < len(blocks.blocks)
        for want, got in zip(expected, blocks.gradients(*blocks.log_sums()), strict=True):
            assert difference(want, got) <= roundings(count, scale)


def test_a_vocabulary_in_several_blocks():
    torch.manual_seed(0)
    leaves = [torch.randn(n, 6, dtype=torch.float64, requires_grad=True) for n in (900, 5000)]
    targets = torch.randint(5000, (900,))
    weights = torch.full((900,), 1 / 900, dtype=torch.float64)
    found = vocabulary_loss(*leaves, None, targets, weights)  # of 800 rows, and 100
    plain = torch.nn.functional.cross_entropy(leaves[0] @ leaves[1].T, targets)
    pairs = zip(*(torch.autograd.grad(each, leaves) for each in (plain, found)), strict=True)
    for want, got in [(plain, found), *pairs]:
        assert difference(want, got) <= roundings(900, 5.0)


@pytest.mark.parametrize(
    ("name", "settings", "count"),
    [
        ("strae", {}, 430),
        ("strae", {"channels": 100}, 7),  # one number a channel: arXiv 2404.01860
        ("iornn", {}, 40_400),
        # the published 260,600 is the cell that goes up, counted for both ways
        ("tree-lstm", {}, 210_600),
        ("bi-lstm", {}, 181_800),
        ("roberta", {}, 3_950_232),  # without embeddings, those of distances too, and the head
    ],
)
def test_parameters_without_embeddings_are_as_many_as_published(name, settings, count):
    named = registry.load("method", name)(**settings).make_model(7).named_parameters()
    sizes = {key: weight.numel() for key, weight in named if key.split(".")[-1] != "distance"}
    kept = "layers." if name == "roberta" else ""
    assert count == sum(sizes[key] for key in sizes if key != "embedding" and key.startswith(kept))
