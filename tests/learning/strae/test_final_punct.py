"""Punctuation at the end of texts: dropped alike in training and in encoding, or kept."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from structkit.learning.encoders.encoder import open_model
from structkit.learning.strae.sentences import leaf_depths
from structkit.structure.trees.tree import from_depths
from structkit.structure.trees.words import words_of
from tests.learning.strae.samples import depths, nested, trained
from tests.tolerances import bound

TEXTS = ["The cat sleeps on the mat.", "A dog barks!", 'The dog sleeps; a cat barks. "', "?"] * 3
SMALL = {"epochs": 1, "embedding_size": 8, "minimum_count": 1, "final_punct": "drop"}
METHODS = {
    "self-strae": {"channels": 2, "batch_size": 4},
    "strae": {"channels": 2, "batch_size": 4},
    "bi-lstm": {"batch_size": 4},
    "fasttext": {"buckets": 100},
}

pairs = st.recursive(st.just(0), lambda trees: st.tuples(trees, trees), max_leaves=30)


def without(tree):
    left, right = tree
    return left if right == 0 else (left, without(right))


@given(pairs, st.integers(0, 5))
def test_the_sibling_takes_the_place(tree, count):
    expected = tree
    for _ in range(count := min(count, len(depths(tree)) - 1)):
        expected = without(expected)
    deep = depths(tree)
    whole = from_depths(["word"] * len(deep), deep)
    assert depths(expected) == leaf_depths(whole, len(deep) - count)


@pytest.mark.parametrize("name", METHODS)
def test_a_stop_is_dropped_in_training_and_in_encoding(name, tmp_path):
    field, made = ("text", str)
    if name == "strae":
        field, made = "tree", lambda text: nested(words_of(text))
    trained(name, tmp_path / "m", map(made, TEXTS), field, **SMALL, **METHODS[name])
    vocabulary = json.loads((tmp_path / "m" / "vocabulary.json").read_text())["words"]
    assert {";", "?"} <= set(vocabulary) and not {".", "!"} & set(vocabulary)
    model, _ = open_model(str(tmp_path / "m"))
    texts = ["The cat sleeps.", "The cat sleeps", "The cat; sleeps"]
    with torch.inference_mode():
        inputs = model.inputs([made(text) for text in texts], "document")
        stopped, plain, inside = model.embed(model.batch(inputs))
    # a sum over two inputs of as many numbers, for each word
    near = bound(3 * 2 * SMALL["embedding_size"], plain.abs().max().item())
    assert (stopped - plain).abs().max() <= near
    assert (inside - plain).abs().max() > 10 * near
    if name == "self-strae":
        (tree,) = model.trees([["The", "cat", "sleeps", ".", "''"]])
        assert ("The", "cat", "sleeps", ".", "''") == tree.words
        assert [2, 1] == leaf_depths(tree, 5)[-2:]  # beside all the rest
