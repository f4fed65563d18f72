"""Gradients in chunks are those of the whole batch, dropout included."""

import pytest
import torch

from tests.learning.training.materials import (
    SCRATCH,
    first_batch,
    gradients,
    plain_loss,
    write_pairs,
)
from tests.tolerances import rounding


@pytest.fixture
def module_of(tmp_path):
    def build(name, count=20, negatives=lambda number: 1, **changes):
        file = write_pairs(tmp_path / "records.jsonl", count, negatives)
        values = {**SCRATCH, "batch_size": count, "epochs": 1, **changes}
        module, batch, *_ = first_batch(name, file, **values)
        return module.train(), batch

    return build


# the longest sums: over the documents of a batch, and over SANTA's vocabulary
TERMS = {"contrastive": 60, "colbert": 600, "seal": 60, "santa": 450}


def check_gradients(found, expected, near):
    """Equal up to rounding, and not all within it."""
    assert expected.keys() == found.keys()
    for weight, gradient in expected.items():
        torch.testing.assert_close(found[weight], gradient, **near)
    assert max(gradient.abs().max() for gradient in expected.values()) > near["atol"]


CASES = [
    ("contrastive", {"pooling": "cls", "architecture": "bert", "symmetric": True}),
    ("colbert", {"architecture": "t5", "symmetric": True, "matryoshka": "8,16", "dimensions": 16}),
    ("seal", {"stages": "joint"}),
    ("santa", {"pooling": "mean", "align_on": "original", "entity_weight": 0.5}),
]
RARE = [
    ("contrastive", {"pooling": "mean"}),
    ("colbert", {"document_length": 20, "dimensions": 24}),
    ("seal", {"stages": "structure", "negatives_per_query": 0}),
    ("santa", {}),
]
CASES += [pytest.param(*each, marks=pytest.mark.long) for each in RARE]


@pytest.mark.parametrize(("name", "changes"), CASES)
def test_gradients_in_chunks_and_of_layers_computed_again_are_plain_ones(module_of, name, changes):
    plain, batch = module_of(name, **changes)
    losses, expected = gradients(plain, batch)
    # a softmax's gradients are not beyond 1, its scores are divided by the temperature
    near = rounding(TERMS[name], 1 / plain.settings.temperature)
    # a CPU computes in pieces of 16: with chunks of as many, dropout meets the same numbers
    chunks, again = {"chunk_size": 16}, {"checkpointing": True}
    for ways in (chunks, again, {**chunks, **again}):
        found_losses, found = gradients(*module_of(name, **changes, **ways))
        assert losses == pytest.approx(found_losses, abs=near["atol"])
        check_gradients(found, expected, near)


@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.long), 3, 7])
@pytest.mark.parametrize("counts", [(1,), (0, 2, 1, 3)], ids=["even", "ragged"])
@pytest.mark.parametrize("name", ["contrastive", "colbert", "seal", "santa"])
def test_any_chunks_give_the_gradients_of_one_graph(module_of, name, size, counts):
    drawn = {"negatives_per_query": min(2, max(counts)), "temperature": 1.0}
    module, batch = module_of(
        name, 9, lambda number: counts[number % len(counts)], chunk_size=size, **drawn
    )
    module.eval()  # without dropout, the size of chunks does not matter
    loss, parts = plain_loss(module, batch)
    loss.backward()
    expected = {name: each.grad for name, each in module.named_parameters() if each.requires_grad}
    losses, found = gradients(module, batch)
    near = rounding(TERMS[name], loss.item())
    parts = {"loss": loss, **parts}
    assert {name: part.item() for name, part in parts.items()} == pytest.approx(
        {name: losses[name] for name in parts}, abs=near["atol"]
    )
    check_gradients(found, expected, rounding(TERMS[name]))


def test_dropout_is_on_and_drawn_once(module_of):
    """The law above would hold for no dropout too: here two runs with other numbers differ."""
    module, batch = module_of("contrastive", chunk_size=4)
    first = gradients(module, batch)[0]["loss"]
    torch.manual_seed(8)
    assert first != module.backward(batch)()["loss"]


def most_saved(compute):
    """The most bytes that autograd keeps at a time."""
    alive, most = 0, 0

    class Kept:
        def __init__(self, tensor):
            nonlocal alive, most
            self.tensor, self.bytes = tensor, tensor.numel() * tensor.element_size()
            alive += self.bytes
            most = max(most, alive)

        def __del__(self):
            nonlocal alive
            alive -= self.bytes

    with torch.autograd.graph.saved_tensors_hooks(Kept, lambda kept: kept.tensor):
        graph = compute()
    del graph
    return most


@pytest.mark.parametrize("architecture", ["bert", "t5"])
def test_less_is_kept_for_the_gradients(module_of, architecture):
    def kept(**changes):
        options = {"pooling": "mean", "architecture": architecture}
        module, batch = module_of("contrastive", **options, **changes)
        weights = sum(each.nbytes for each in module.parameters())
        return most_saved(lambda: module.backward(batch)) - weights

    whole = kept()
    assert kept(chunk_size=2) < whole / 3 and kept(checkpointing=True) < whole / 3


def test_bfloat16_keeps_the_scores_exact(module_of):
    settings = {"pooling": "mean", "temperature": 0.02}
    expected = gradients(*module_of("contrastive", **settings))
    found = gradients(*module_of("contrastive", **settings, bf16=True, chunk_size=16))
    assert expected[0]["loss"] == pytest.approx(found[0]["loss"], rel=0.05)
    whole = [
        torch.cat([each.flatten() for each in named.values()]) for _, named in (expected, found)
    ]
    assert torch.cosine_similarity(*whole, dim=0) > 0.97
