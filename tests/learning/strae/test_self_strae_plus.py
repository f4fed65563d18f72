"""Self-StrAE with both objectives, against the plain version and a number worked by hand."""

import json
from math import log

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from structkit import registry
from structkit.errors import UserError
from structkit.learning.encoders.model_folder import open_model
from structkit.learning.strae.sentences import Sentences
from structkit.learning.strae.training import StraeTraining
from structkit.learning.strae.vocabulary import Vocabulary
from structkit.learning.training.run import train
from structkit.learning.training.settings import RunOptions
from tests.learning.strae import reference_strae as reference
from tests.learning.strae.samples import WORDS, difference, gradients, plain, roundings, sample

Method = registry.load("method", "self-strae-plus")


def training(**changes):
    method = Method(**{"embedding_size": 20, "channels": 5, "init_range": 1.0} | changes)
    vocabulary = Vocabulary([str(number) for number in range(WORDS)], lowercase=True)
    model = method.untrained(WORDS).double()
    return StraeTraining(method, model, vocabulary, Sentences([])).eval()


def test_a_loss_by_hand():
    """All parameters 0: each of four words has a probability of 1/30, each of three phrases 1/3."""
    fast = training()
    for weight in fast.parameters():
        weight.data.zero_()
    _, sentences = sample(0, [4])
    loss, parts = fast.loss([sentences])
    assert (log(3), log(30)) == pytest.approx((parts["contrastive"].item(), parts["ce"].item()))
    assert (log(3) + log(30)) / 2 == pytest.approx(loss.item())


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 1 << 30), st.lists(st.integers(2, 15), min_size=1, max_size=4))
def test_loss_and_gradients_equal_the_plain_version(seed, lengths):
    fast = training(seed=seed)
    _, sentences = sample(seed, lengths)
    parameters = plain(fast.model)
    roots = [reference.greedy(sentence.ids.tolist(), parameters) for sentence in sentences]
    inner = [node for root in roots for node in root.all() if node.children]
    scale = 2.718281828459045**0.2  # the cosine times exp(0.2)
    contrastive = reference.contrastive(inner, scale)
    tokens = sum(lengths)
    pairs = zip(roots, lengths, strict=True)
    ce = sum(reference.cross_entropy(root, parameters) * n / tokens for root, n in pairs)
    expected = (contrastive + ce) / 2
    found, _ = fast.loss([sentences])
    near = roundings(2 * tokens, scale)
    assert difference(expected, found) <= near
    names = [name for name, _ in fast.model.named_parameters()]
    theirs = gradients(expected, [parameters[name] for name in names])
    ours = gradients(found, list(fast.model.parameters()))
    for name, one, other in zip(names, theirs, ours, strict=True):
        assert difference(one, other) <= near, name


def test_settings_are_those_of_the_code():
    method = Method()
    assert (1e-3, 1.0, 4, 200) == (
        method.learning_rate, method.max_grad_norm, method.min_length, method.max_length
    )  # fmt: skip
    composed = ("compose", "decompose")
    sizes = [
        sum(
            weight.numel()
            for name, weight in Method(channels=channels).untrained(2).named_parameters()
            if name.startswith(composed)
        )
        for channels in (16, 256)
    ]
    assert [2 * 2 * 256 + 16 + 32, 7] == sizes


def test_short_texts_are_refused_in_training_and_encoded(tmp_path):
    lines = ["The cat sleeps on the mat.", "A dog barks loudly.", "Stop now!"] * 2
    file = tmp_path / "texts.jsonl"
    records = [{"id": str(number), "text": text} for number, text in enumerate(lines)]
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    method = Method(embedding_size=20, channels=5, epochs=1)
    with pytest.raises(UserError, match=r"fewer than 4 words \(--min-length\): 2"):
        train("self-strae-plus", method, [str(file)], RunOptions(output=str(tmp_path / "a")))
    options = RunOptions(output=str(tmp_path / "b"), on_error="skip", quiet=True)
    assert 4 == train("self-strae-plus", method, [str(file)], options)["records"]
    model, _ = open_model(str(tmp_path / "b"))
    with torch.inference_mode():
        assert (1, 20) == model.embed(model.inputs(["Stop!"])).shape
