"""Baselines without trees: Bi-LSTM and RoBERTa against slow ones, and their trainings."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from structkit_plugins.papers.methods._text_models import TextIds, TextTraining, pad

from structkit import registry
from structkit.errors import UserError
from structkit.learning.encoders.encoder import open_model
from tests.learning.strae.samples import ANIMALS, train_on, vocabulary, write_records
from tests.model_encodings import encoding_of
from tests.papers import reference_baselines as reference
from tests.tolerances import rounding


def method(name):
    return registry.load("method", name)


class SmallRoberta(method("roberta")):
    heads, layers, inner_size = 2, 3, 11


def small(name):
    return SmallRoberta if name == "roberta" else method(name)


def text_model(name):
    model = small(name)(embedding_size=6).make_model(9)
    with torch.no_grad():
        for weight in model.parameters():
            weight.uniform_(-1, 1)
    return model.double()


def near(ids, numbers):
    """For each token and layer a sum over the sizes of input and state, of numbers like these."""
    return rounding(3 * len(ids) * 2 * 6, max(1.0, numbers.abs().max().item()), torch.float64)


IDS = st.lists(st.integers(0, 8), min_size=1, max_size=7)


def batch_of(texts, words):
    found = [TextIds(np.array(ids, np.int32), word) for ids, word in zip(texts, words, strict=True)]
    return pad(found, torch.device("cpu"))


@pytest.mark.parametrize("name", ["bi-lstm", "roberta"])
@settings(max_examples=15)
@given(texts=st.lists(st.tuples(IDS, st.booleans()), min_size=1, max_size=3))
def test_embeddings_equal_the_plain_version_in_any_batch(name, texts):
    model = text_model(name).eval()
    weights = dict(model.named_parameters())
    found = model.embed(batch_of(*zip(*texts, strict=True)))
    for (ids, word), embedding in zip(texts, found, strict=True):
        if name == "bi-lstm":
            expected = reference.bi_lstm(ids, weights)[0]
        else:
            expected = reference.roberta(ids, word, weights, heads=2, layers=3)
        torch.testing.assert_close(embedding, expected, **near(ids, expected))


@settings(max_examples=15)
@given(texts=st.lists(IDS, min_size=1, max_size=4))
def test_the_loss_and_gradients_of_bi_lstm_equal_the_plain_versions(texts):
    model = text_model("bi-lstm")
    weights = dict(model.named_parameters())
    losses = [loss for ids in texts for loss in reference.bi_lstm(ids, weights)[1]]
    expected = torch.stack(losses).mean()
    chosen = method("bi-lstm")(embedding_size=6)
    training = TextTraining(chosen, model, vocabulary(9)).eval()
    # two portions count as one batch
    parts = [batch_of(part, [False] * len(part)) for part in (texts[:1], texts[1:]) if part]
    found = training.backward(parts)()
    states = sum(texts, [])
    assert expected.item() == pytest.approx(found["loss"], abs=near(states, expected)["atol"])
    gradients = torch.autograd.grad(expected, list(weights.values()), allow_unused=True)
    for gradient, weight in zip(gradients, weights.values(), strict=True):
        # the states of one token alone are seen by none: there is no gradient, or it is 0
        zeros = torch.zeros_like(weight)
        expected, found = (zeros if each is None else each for each in (gradient, weight.grad))
        torch.testing.assert_close(found, expected, **near(states, expected))


def test_roberta_predicts_masked_tokens_only_from_what_it_may_see():
    torch.manual_seed(3)
    model = text_model("roberta")
    seen = []
    model.states = lambda batch: (
        seen.append(batch.ids),
        [torch.zeros(*batch.ids.shape, 6).double()],
    )[1]
    texts = [[number % 9 for number in range(40)]] * 50 + [[1]]
    batch = batch_of(texts, [False] * 51)
    _, ids, bias = model.predictions(batch)
    changed = seen[0] != batch.ids
    hidden = seen[0] == 9
    share = len(ids) / (50 * 40 + 1)
    assert 0.12 < share < 0.18
    assert 0.75 < hidden.sum() / len(ids) < 0.85  # eight of ten
    assert 0.04 < (changed & ~hidden).sum() / len(ids) < 0.13  # one of ten, or by chance the same
    assert not changed[50, 1:].any()  # padding is not predicted
    assert 9 == len(bias)


SMALL = {
    "fasttext": {"buckets": 2000, "epochs": 3, "learning_rate": 0.05},
    "bi-lstm": {"epochs": 10, "batch_size": 8, "learning_rate": 0.01},
    "roberta": {"epochs": 10, "batch_size": 8, "learning_rate": 0.01, "vocabulary_size": 400},
}


def check_leaves(folder):
    """A record with only a tree is encoded by its leaves, as it is trained."""
    encoding = encoding_of(folder, "document")
    trees = [
        "(X (X the) (X (X cat) (X sees)))",
        "(S (NP the (N cat)) (VP sees))",
        "(S the cat sees)",
    ]
    records = [{"text": "the cat sees"}, *({"tree": tree} for tree in trees)]
    records += [{"text": "cat"}, {"tree": "(NN cat)"}, {"tree": "(S (NN cat))"}]
    texts = (encoding.read({"id": "1", **record}) for record in records)
    found = np.array([row["embedding"] for row in encoding.embeddings(texts)])
    near = rounding(4 * 10 * 3, abs(found).max())  # gates, numbers, words
    np.testing.assert_allclose(found[[1, 2, 3]], found[[0, 0, 0]], **near)
    np.testing.assert_allclose(found[[5, 6]], found[[4, 4]], **near)
    assert abs(found[4] - found[0]).max() > 10 * near["atol"]
    with pytest.raises(UserError, match="is not closed"):
        encoding.read({"id": "1", "tree": "(X (X a)"})


@pytest.mark.parametrize("name", SMALL)
def test_training_learns_and_encodes(name, tmp_path):
    texts = write_records(tmp_path / "texts.jsonl", ANIMALS)
    summary = train_on(texts, name, tmp_path / "m", **{"embedding_size": 10, **SMALL[name]})
    if name != "fasttext":
        losses = summary["losses"]["loss"]
        assert losses["last"] < 0.9 * losses["first"]
    model, _ = open_model(str(tmp_path / "m"))
    check_leaves(str(tmp_path / "m"))
    wanted = ["the cat sees the bird", "dogs", "The hen, chases!", "fox"]
    inputs = model.inputs(wanted, "document")
    together = model.embed(model.batch(inputs))
    assert (4, 10) == together.shape
    for place, each in enumerate(inputs):
        near = rounding(4 * 10 * len(wanted[0].split()), together.abs().max().item())
        torch.testing.assert_close(model.embed(model.batch([each]))[0], together[place], **near)
