"""StrAE's composition with a loss between two texts: beside a plain version, and in numbers."""

import pytest
import torch

from structkit.errors import UserError
from structkit.learning.encoders.encoder import open_model
from structkit.learning.strae.training import strae_training
from tests.jsonl import write
from tests.learning.strae import reference_strae as reference
from tests.learning.strae import samples

SMALL = {"objective": "pairs", "embedding_size": 20, "channels": 5}


def training_of(**values):
    settings = samples.Method(**SMALL | values)
    model = samples.wide(settings.make_model(samples.WORDS)).double()
    return strae_training(settings, model, samples.vocabulary()).eval()


def plain_loss(queries, positives, scale, apart):
    """The mean of what each text loses among those that its own stands beside, both ways."""
    scores = [[(reference.cosine(q, p) * scale).exp() for p in positives] for q in queries]
    places, losses = range(len(queries)), []
    for i in places:
        for row in ([scores[i][j] for j in places], [scores[j][i] for j in places]):
            losses.append((sum(row[j] for j in places if i == j or apart(i, j)) / row[i]).log())
    return sum(losses) / len(losses)


@pytest.mark.parametrize("pooling", ["root", "mean"])
@pytest.mark.parametrize("mask", [False, True])
def test_the_loss_of_pairs_and_gradients_are_those_of_one_text_at_a_time(pooling, mask):
    trees, sentences = samples.sample(3, [5, 2, 1, 7, 5, 3, 12, 2])
    trees[4], sentences[4] = trees[0], sentences[0]  # two pairs have the same query
    training = training_of(pooling=pooling, mask_duplicates=mask)
    found, parts = samples.loss_of(training, training.in_portions(sentences))
    values = samples.plain(training.model)
    texts = [sentence.ids.tolist() for sentence in sentences]
    if pooling == "root":
        vectors = [reference.upward(*each, values).up for each in zip(trees, texts, strict=True)]
    else:
        vectors = [values["embedding"][ids].mean(0) for ids in texts]
    apart = (lambda i, j: {i, j} != {0, 2}) if mask else lambda i, j: True
    expected = plain_loss(vectors[::2], vectors[1::2], 5.0, apart)
    wanted = [weight for name, weight in values.items() if name != "channels"]
    near = samples.roundings(37, 5.0)
    samples.check_gradients(expected, found, wanted, list(training.model.parameters()), near)
    assert ["pairs"] == list(parts)


def test_a_large_batch_of_pairs_is_split_by_leaves():
    _, sentences = samples.sample(9, [2, 3, 5, 9, 7, 12, 1, 4])
    training = training_of(batch_tokens=24)
    parts = training.in_portions(sentences)
    assert [[(2, 3), (5, 9)], [(7, 12), (1, 4)]] == [
        [(len(pair.query), len(pair.positive)) for pair in part] for part in parts
    ]
    expected = sum(training.losses(part)["pairs"].item() for part in parts) / 2
    assert {"loss": pytest.approx(expected)} == training.backward(parts)()


TREES = "(X (X a) (X (X small) (X dog)))", "(X (X a) (X dog))", "(X (X cats) (X sleep))", "(X cats)"


@pytest.mark.parametrize(("method", "pooling"), [("strae", "mean"), ("tree-lstm", "root")])
def test_a_model_of_pairs_is_encoded_as_it_was_trained(tmp_path, method, pooling):
    pairs = [{"id": TREES[i], "query": TREES[i], "positive": TREES[i + 1]} for i in (0, 2)]
    data = write(tmp_path / "pairs.jsonl", *pairs * 2)
    values = {"objective": "pairs", "pooling": pooling, "validate": str(data), "max_steps": 4}
    summary = samples.train_on(data, method, tmp_path / "model", batch_size=2, **values)
    assert (4, 4) == (summary["records"], summary["steps"]) and summary["held_out"]["first"] > 0
    model, metadata = open_model(str(tmp_path / "model"))
    assert (pooling, ["tree"]) == (metadata["pooling"], metadata["document_fields"])
    # both sides are texts of their own
    assert {"<unk>", "a", "dog", "cats", "small", "sleep"} == {*model.vocabulary.words}
    one, other = model.embed(model.inputs(["(X (X a) (X dog))", "(X (X dog) (X a))"]))
    assert (pooling == "mean") == torch.allclose(one, other)


def test_a_text_of_a_pair_that_is_no_tree_is_named(tmp_path):
    for problem, record in (
        ('field "positive" is missing; add the other text of the pair with', {}),
        ('field "positive": the tree has a node', {"positive": "(X (X a) (X b) (X c))"}),
    ):
        data = write(tmp_path / "pairs.jsonl", {"id": "1", "query": TREES[0], **record})
        with pytest.raises(UserError) as error:
            samples.train_on(data, "strae", tmp_path / "model", objective="pairs")
        assert str(error.value).startswith(f"{data}:1: {problem}")
    with pytest.raises(UserError, match="mean is not for --objective ce; use --objective pairs"):
        samples.Method(objective="ce", pooling="mean")
