"""Punctuation at the end of texts: dropped alike in training and in encoding, or kept."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from structkit import registry
from structkit.learning.encoders.model_folder import open_model
from structkit.learning.strae.sentences import leaf_depths
from structkit.learning.training.run import train
from structkit.learning.training.settings import RunOptions
from structkit.structure.trees.final_punct import without_last
from structkit.structure.trees.words import words_of
from tests.tolerances import bound

TEXTS = ["The cat sleeps on the mat.", "A dog barks!", 'The dog sleeps; a cat barks. "', "?"] * 3
SMALL = {"epochs": 1, "embedding_size": 8, "minimum_count": 1, "final_punct": "drop"}
METHODS = {
    "self-strae": {"channels": 2, "batch_size": 4},
    "strae": {"channels": 2, "batch_size": 4},
    "bi-lstm": {"batch_size": 4},
    "fasttext": {"buckets": 100},
}

pairs = st.recursive(st.none(), lambda trees: st.tuples(trees, trees), max_leaves=30)


def depths(tree, depth=0):
    return [depth] if tree is None else [d for child in tree for d in depths(child, depth + 1)]


def without(tree):
    left, right = tree
    return left if right is None else (left, without(right))


@given(pairs, st.integers(0, 5))
def test_the_sibling_takes_the_place(tree, count):
    expected = tree
    for _ in range(count := min(count, len(depths(tree)) - 1)):
        expected = without(expected)
    assert depths(expected) == without_last(depths(tree), count)


def right_branching(text):
    return nested(words_of(text))


def nested(words):
    return f"(X {words[0]})" if len(words) == 1 else f"(X (X {words[0]}) {nested(words[1:])})"


@pytest.fixture(scope="module", params=METHODS)
def folder(request, tmp_path_factory):
    base = tmp_path_factory.mktemp(request.param)
    field, made = ("tree", right_branching) if request.param == "strae" else ("text", str)
    lines = [{"id": str(n), field: made(text)} for n, text in enumerate(TEXTS)]
    (base / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    method = registry.load("method", request.param)(**SMALL, **METHODS[request.param])
    options = RunOptions(output=str(base / "model"), quiet=True)
    train(request.param, method, [str(base / "records.jsonl")], options)
    return base / "model"


def embedded(folder, texts):
    made = right_branching if folder.parent.name.startswith("strae") else str
    model, _ = open_model(str(folder))
    with torch.inference_mode():
        return model.embed(model.batch(model.inputs([made(text) for text in texts], "document")))


def test_a_stop_is_dropped_in_training_and_in_encoding(folder):
    vocabulary = json.loads((folder / "vocabulary.json").read_text())["words"]
    assert {";", "?"} <= set(vocabulary) and not {".", "!"} & set(vocabulary)
    stopped, plain, inside = embedded(
        folder, ["The cat sleeps.", "The cat sleeps", "The cat; sleeps"]
    )
    # a sum over two inputs of as many numbers, for each word
    near = bound(3 * 2 * SMALL["embedding_size"], plain.abs().max().item())
    assert (stopped - plain).abs().max() <= near
    assert (inside - plain).abs().max() > 10 * near


@pytest.mark.parametrize("folder", ["self-strae"], indirect=True)
def test_induced_trees_have_it_beside_all_the_rest(folder):
    model, _ = open_model(str(folder))
    words = ["The", "cat", "sleeps", ".", "''"]
    (tree,) = model.trees([words])
    assert tuple(words) == tree.words
    assert [2, 1] == leaf_depths(tree)[-2:]
