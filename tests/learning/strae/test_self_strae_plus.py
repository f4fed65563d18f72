"""Self-StrAE with both objectives, against the plain version."""

from math import exp

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from structkit import registry
from structkit.errors import UserError
from structkit.learning.encoders.encoder import open_model
from tests.learning.strae import reference_strae as reference
from tests.learning.strae import samples

Method = registry.load("method", "self-strae-plus")


def training(**changes):
    made = samples.tree_training(Method(embedding_size=20, channels=5, **changes)).eval()
    samples.wide(made.model)
    return made


@settings(max_examples=15)
@given(st.integers(0, 1 << 30), st.lists(st.integers(2, 15), min_size=1, max_size=4))
def test_loss_and_gradients_equal_the_plain_version(seed, lengths):
    fast = training(seed=seed)
    _, sentences = samples.sample(seed, lengths)
    parameters = samples.plain(fast.model)
    roots = [reference.greedy(sentence.ids.tolist(), parameters) for sentence in sentences]
    inner = [node for root in roots for node in root.all() if node.children]
    scale, tokens = exp(0.2), sum(lengths)
    pairs = zip(roots, lengths, strict=True)
    ce = sum(reference.cross_entropy(root, parameters) * n / tokens for root, n in pairs)
    expected = (reference.contrastive(inner, scale) + ce) / 2
    found, _ = samples.loss_of(fast, [samples.without_trees(sentences)])
    theirs = [parameters[name] for name, _ in fast.model.named_parameters()]
    near = samples.roundings(2 * tokens, scale)
    samples.check_gradients(expected, found, theirs, list(fast.model.parameters()), near)


def test_settings_are_those_of_the_code():
    method = Method()
    assert (1e-3, 1.0, 4, 200) == (
        *(method.learning_rate, method.max_grad_norm, method.min_words, method.max_length),
    )


def test_short_texts_are_refused_in_training_and_encoded(tmp_path):
    lines = ["The cat sleeps on the mat.", "A dog barks loudly.", "Stop now!"] * 2
    file, model = samples.write_records(tmp_path / "texts.jsonl", lines), tmp_path / "model"
    with pytest.raises(UserError, match="fewer than 4 words: 2; leave the record out"):
        samples.train_on(file, "self-strae-plus", model)
    lines = ["The cat sleeps on the mat."] * 2
    samples.train_on(samples.write_records(file, lines), "self-strae-plus", model, max_steps=0)
    encoder, _ = open_model(str(model))
    with torch.inference_mode():
        assert (1, 256) == encoder.embed(encoder.inputs(["Stop!"])).shape
