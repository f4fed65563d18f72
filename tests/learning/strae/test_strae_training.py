"""Training of StrAE: its losses, on records that it can use, in as many passes as needed."""

import numpy as np
import pytest
import torch

from structkit.errors import UserError
from structkit.learning.encoders.encoder import open_model
from tests.jsonl import write
from tests.learning.strae import samples

TREES = [
    "(S (X (X the) (X cat)) (X (X sleeps) (X .)))",
    "(S (X (X A) (X dog)) (X (X (X of) (X (X the) (X cat))) (X barks)))",
    "(X stop)",
    "(X (X The) (X (X dog) (X (X sleeps) (X (X -LRB-) (X (X barks) (X -RRB-))))))",
]


def records(path, trees=TREES, times=3):
    return samples.write_records(path, trees * times, "tree")


def trained(folder, data, **changes):
    values = {"epochs": 2, "batch_size": 5, "embedding_size": 20, "channels": 5} | changes
    return samples.train_on(data, "strae", folder, **values)


@pytest.mark.parametrize(
    ("objective", "subwords"), [("contrastive", True), ("ce", False), ("both", True)]
)
def test_an_objective_has_its_losses_and_embeds(tmp_path, objective, subwords):
    data = records(tmp_path / "trees.jsonl")
    changes = {"subwords": subwords, "vocabulary_size": 400, "objective": objective}
    changes |= {"head": "untied", "mask_duplicates": True}
    found = trained(tmp_path / "model", data, **changes)["losses"]
    assert set(found) == ({"loss", "contrastive", "ce"} if objective == "both" else {"loss"})
    model, _ = open_model(str(tmp_path / "model"))
    assert (4, 20) == tuple(model.embed(model.batch(model.inputs(TREES))).shape)


def test_rare_and_unknown_words_share_an_embedding_and_are_counted(tmp_path, capsys):
    data = records(tmp_path / "trees.jsonl", times=1)
    values = {"embedding_size": 20, "channels": 5, "max_steps": 0, "final_punct": "keep"}
    samples.train_on(data, "strae", tmp_path / "model", quiet=False, **values)
    expected = "6 of 17 words (35.3%) are not in the vocabulary and share one embedding"
    assert expected in capsys.readouterr().err
    found, metadata = open_model(str(tmp_path / "model"))
    assert ["<unk>", "the", "barks", "cat", "dog", "sleeps"] == found.vocabulary.words
    one, other, known = found.embed(found.inputs(["(X zebra)", "(X stop)", "(X CAT)"]))
    assert torch.equal(one, other) and not torch.equal(one, known)
    expected = "2 of 3 words (66.7%) are not in the vocabulary and share one embedding"
    assert [expected] == found.truncation.messages()
    assert (("tree",), "root") == (tuple(metadata["query_fields"]), metadata["pooling"])


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("(X (X a) (X b) (X c))", "more or fewer than two children; binarize it"),
        ("(X (X a) (X b)", "trees.jsonl:2: "),
        (" ".join(["(X (X a)"] * 9) + " (X a)" + ")" * 9, "more than 9 words (--max-length): 10"),
    ],
)
def test_a_record_that_is_no_binary_tree_is_named(tmp_path, tree, message):
    data = records(tmp_path / "trees.jsonl", [TREES[0], tree], times=1)
    with pytest.raises(UserError) as error:
        trained(tmp_path / "model", data, max_length=9)
    assert str(error.value).startswith(f"{data}:2: ")
    assert message in str(error.value)


def test_a_record_of_more_words_than_one_pass_takes_is_refused(tmp_path):
    data = records(tmp_path / "trees.jsonl", ["(X (X a) (X b))", "(X (X a) (X (X a) (X b)))"])
    told = r"more than 2 words \(--max-length\): 3; .* or raise --max"
    with pytest.raises(UserError, match=told):
        trained(tmp_path / "model", data, batch_tokens=2)
    trained(tmp_path / "model", data, batch_tokens=2, max_length=3)
    model, _ = open_model(str(tmp_path / "model"))
    assert 3 == len(model.inputs(["(X (X a) (X (X a) (X b)))"])[0])


def test_a_tree_of_another_text_is_named(tmp_path):
    rows = ({"id": text, "text": text, "tree": "(X (X a) (X b))"} for text in ("a  b", "a c"))
    data = write(tmp_path / "trees.jsonl", *rows)
    with pytest.raises(UserError, match=r"trees\.jsonl:2: the words of the tree are not those"):
        trained(tmp_path / "model", data)


def test_the_rate_follows_the_objective():
    assert (1e-4, 1e-3, 5e-5) == (
        samples.Method().learning_rate,
        samples.Method(objective="ce").learning_rate,
        samples.Method(learning_rate=5e-5).learning_rate,
    )


@pytest.mark.parametrize("objective", ["contrastive", "ce", "both"])
def test_a_large_batch_is_split_by_leaves(tmp_path, objective):
    """Gradients of passes, weighted by what they are the mean of, add up to the whole."""
    _, sentences = samples.sample(9, [5, 9, 1, 4, 7, 12])
    settings = samples.Method(objective=objective, embedding_size=20, channels=5, batch_tokens=15)
    training = samples.tree_training(settings)
    training.model.dropouts = (0.0, 0.0)
    parts = training.in_portions(sentences)
    assert [[5, 9, 1], [4, 7], [12]] == [[len(sentence) for sentence in part] for part in parts]
    found = training.backward(parts)()
    ours = [weight.grad.clone() for weight in training.parameters() if weight.grad is not None]
    names = ("contrastive", "ce") if objective == "both" else (objective,)
    # inner nodes, or all nodes of sentences with two words
    nodes = [4 + 8, 3 + 6, 11] if objective == "both" else [9 + 17, 7 + 13, 23]
    shares = {"contrastive": np.array(nodes) / sum(nodes), "ce": np.array([3, 2, 1]) / 6}
    expected = {
        name: sum(
            shares[name][place] * training.losses(part)[name] for place, part in enumerate(parts)
        )
        for name in names
    }
    whole = sum(expected.values()) / len(names)
    near = samples.roundings(sum(nodes), 5.0)
    assert whole.item() == pytest.approx(found["loss"], abs=near)
    training.zero_grad()
    whole.backward()
    theirs = [weight.grad for weight in training.parameters() if weight.grad is not None]
    for want, got in zip(theirs, ours, strict=True):
        assert samples.difference(want, got) <= near
    if objective == "ce":  # its mean is over sentences: passes change nothing
        together = training.losses(sentences)["ce"]
        assert together.item() == pytest.approx(found["loss"], abs=near)
