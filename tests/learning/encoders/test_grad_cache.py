"""Gradients in chunks are those of the whole batch, dropout included."""

import pytest
import torch

from tests.learning.training.materials import begun, plain_loss, write_pairs
from tests.tolerances import rounding


@pytest.fixture
def module_of(tmp_path):
    def build(name, count=20, negatives=lambda number: 1, **changes):
        file = write_pairs(tmp_path / "records.jsonl", count, negatives)
        values = {"size": "tiny", "vocabulary_size": 450, "batch_size": count, "epochs": 1}
        module, spool, plan = begun(name, file, **values | changes)
        return module, module.batch([spool[place] for place in range(count)], plan.step(0))

    return build


def gradients(module):
    return {
        name: weight.grad.clone()
        for name, weight in module.named_parameters()
        if weight.grad is not None
    }


def backward(module, inputs):
    module.zero_grad()
    torch.manual_seed(7)
    return module.backward(inputs)(), gradients(module)


# the longest sums: over the documents of a batch, and over SANTA's vocabulary
TERMS = {"contrastive": 60, "seal": 60, "santa": 450}


def check_gradients(found, expected, near):
    """Equal up to rounding, and not all within it."""
    assert expected.keys() == found.keys()
    for weight, gradient in expected.items():
        torch.testing.assert_close(found[weight], gradient, **near)
    assert max(gradient.abs().max() for gradient in expected.values()) > near["atol"]


CASES = [
    ("contrastive", {"pooling": "mean"}),
    ("contrastive", {"pooling": "cls", "architecture": "bert", "symmetric": True}),
    ("seal", {"stages": "joint"}),
    ("seal", {"stages": "structure", "negatives_per_query": 0}),
    ("santa", {}),
    ("santa", {"pooling": "mean", "align_on": "original", "entity_weight": 0.5}),
]


@pytest.mark.parametrize(("name", "changes"), CASES)
def test_cached_gradients_are_plain_ones(module_of, name, changes):
    plain, inputs = module_of(name, **changes)
    expected = backward(plain, inputs)
    # a CPU computes in pieces of 16: with chunks of as many, dropout meets the same numbers
    cached, inputs = module_of(name, **changes, chunk_size=16)
    found = backward(cached, inputs)
    # a softmax's gradients are not beyond 1, its scores are divided by the temperature
    near = rounding(TERMS[name], 1 / plain.settings.temperature)
    assert expected[0] == pytest.approx(found[0], abs=near["atol"])
    check_gradients(found[1], expected[1], near)


@pytest.mark.parametrize("chunk_size", [pytest.param(0, marks=pytest.mark.long), 16])
@pytest.mark.parametrize(("name", "changes"), CASES)
def test_layers_that_are_computed_again_give_the_same_gradients(
    module_of, name, changes, chunk_size
):
    plain, inputs = module_of(name, **changes, chunk_size=chunk_size)
    expected = backward(plain, inputs)
    again, inputs = module_of(name, **changes, chunk_size=chunk_size, checkpointing=True)
    found = backward(again, inputs)
    assert expected[0] == found[0]
    check_gradients(found[1], expected[1], rounding(TERMS[name], 1 / plain.settings.temperature))


@pytest.mark.parametrize("architecture", ["bert", "t5"])
def test_layers_that_are_computed_again_keep_only_their_inputs(module_of, architecture):
    def kept(**changes):
        options = {"pooling": "mean", "architecture": architecture, "size": "mini"}
        module, inputs = module_of("contrastive", **options, **changes)
        sizes = []

        def note(tensor):
            sizes.append(tensor.numel() * tensor.element_size())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            embeddings, _ = module.embedded(
                inputs, "document", torch.arange(len(inputs.texts["document"].tokens.ids))
            )
        weights = {id(each): each for each in module.parameters()}.values()
        return sum(sizes) - sum(each.numel() * each.element_size() for each in weights)

    assert kept(checkpointing=True) < kept() / 2


@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.long), 3, 7])
@pytest.mark.parametrize("counts", [(1,), (0, 2, 1, 3)], ids=["even", "ragged"])
@pytest.mark.parametrize("name", ["contrastive", "seal", "santa"])
def test_any_chunks_give_the_gradients_of_one_graph(module_of, name, size, counts):
    drawn = {"negatives_per_query": min(2, max(counts)), "temperature": 1.0}
    module, inputs = module_of(
        name, 9, lambda number: counts[number % len(counts)], chunk_size=size, **drawn
    )
    module.eval()  # without dropout, the size of chunks does not matter
    loss, parts = plain_loss(module, inputs)
    loss.backward()
    expected = gradients(module)
    numbers, found = backward(module, inputs)
    near = rounding(TERMS[name], loss.item())
    assert loss.item() == pytest.approx(numbers["loss"], abs=near["atol"])
    assert {name: part.item() for name, part in parts.items()} == pytest.approx(
        {name: numbers[name] for name in parts}, abs=near["atol"]
    )
    check_gradients(found, expected, rounding(TERMS[name]))


def test_dropout_is_on_and_drawn_once(module_of):
    """The law above would hold for no dropout too: here two runs with other numbers differ."""
    module, inputs = module_of("contrastive", chunk_size=4)
    first = backward(module, inputs)[0]["loss"]
    torch.manual_seed(8)
    assert first != module.backward(inputs)()["loss"]
    assert first == backward(module, inputs)[0]["loss"]


def test_less_is_kept_for_the_gradients(module_of):
    """Bytes that autograd saves: in chunks of 2 a fraction of those of all 20 texts."""

    def most_saved(**changes):
        module, inputs = module_of("contrastive", **changes)
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
            module.backward(inputs)
        return most

    whole = most_saved()
    assert most_saved(chunk_size=2) < whole / 3


def test_bfloat16_keeps_the_scores_exact(module_of):
    plain, inputs = module_of("contrastive", pooling="mean", temperature=0.02)
    expected = backward(plain, inputs)
    module, inputs = module_of(
        "contrastive", pooling="mean", temperature=0.02, bf16=True, chunk_size=16
    )
    found = backward(module, inputs)
    assert expected[0]["loss"] == pytest.approx(found[0]["loss"], rel=0.05)
    whole = [
        torch.cat([each.flatten() for each in found.values()]) for _, found in (expected, found)
    ]
    assert torch.cosine_similarity(*whole, dim=0) > 0.97
