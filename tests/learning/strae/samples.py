"""Sentences and models to compare with the reference, and how far apart both may be."""

import random

import numpy as np
import torch

from structkit import registry
from structkit.learning.encoders.encoder import open_model
from structkit.learning.strae.sentences import Sentence
from structkit.learning.strae.training import StraeTraining
from structkit.learning.strae.vocabulary import Vocabulary
from tests.jsonl import write
from tests.learning.training.materials import train_on
from tests.tolerances import bound

Method = registry.load("method", "strae")
WORDS = 30
# of four words, of one, and of two
TREES = ["(X (X (X The) (X (X black) (X cat))) (X sleeps))", "(X cat)", "(X (X The) (X cat))"]
ANIMALS = [
    f"the {animal} {verb} the {other}"
    for animal in ("cat", "dog", "fox", "hen")
    for verb in ("sees", "hears", "chases")
    for other in ("bird", "mouse", "worm")
]


def grown(draw, first, last, shape):
    """A tree over the words first … last - 1, as the reference has it."""
    if last - first == 1:
        return first
    splits = {"right": first + 1, "left": last - 1, "balanced": (first + last) // 2}
    middle = splits.get(shape) or draw.randrange(first + 1, last)
    return grown(draw, first, middle, shape), grown(draw, middle, last, shape)


def depths(tree, depth=0):
    if isinstance(tree, int):
        return [depth]
    return [*depths(tree[0], depth + 1), *depths(tree[1], depth + 1)]


def sample(seed, lengths, shapes=("random",)):
    """Trees and the same as numbers."""
    draw = random.Random(seed)
    trees = [grown(draw, 0, length, draw.choice(shapes)) for length in lengths]
    sentences = [
        Sentence(
            np.array([draw.randrange(WORDS) for _ in range(length)], np.int32),
            np.array(depths(tree), np.int32),
        )
        for tree, length in zip(trees, lengths, strict=True)
    ]
    return trees, sentences


def without_trees(sentences):
    """The same, for models that make trees themselves."""
    return [Sentence(sentence.ids, sentence.depths[:0]) for sentence in sentences]


def model(seed=0, *, size=20, channels=5, untied=False, dtype=torch.float64):
    values = {"head": "untied", "objective": "both"} if untied else {}
    made = Method(embedding_size=size, channels=channels, seed=seed, **values).make_model(WORDS)
    return wide(made).to(dtype).eval()


def wide(model):
    """The model with embeddings between -1 and 1."""
    model.embedding.data.uniform_(-1, 1)
    return model


def plain(model):
    """The parameters as the reference reads them, in float64."""
    parameters = {
        name: weight.detach().double().requires_grad_() for name, weight in model.named_parameters()
    }
    return {**parameters, "channels": model.channels}


def gradients(loss, parameters):
    found = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)
    pairs = zip(found, parameters, strict=True)
    return [torch.zeros_like(weight) if part is None else part for part, weight in pairs]


def difference(expected, found):
    """The largest difference, where numbers beyond 1 count relative to the largest."""
    expected = expected.detach().double()
    scale = max(1.0, expected.abs().max().item())
    return (expected - found.detach().double()).abs().max().item() / scale


def check_gradients(expected, found, theirs, ours, near):
    """A loss and its gradients are those of the plain version."""
    assert difference(expected, found) <= near
    for one, other in zip(gradients(expected, theirs), gradients(found, ours), strict=True):
        assert difference(one, other) <= near


def loss_of(training, inputs):
    """The loss of a batch in portions, whose gradients `backward` adds up, and its parts."""
    sums = {}
    for parts in training.shared_losses(inputs):
        sums = {name: part + sums.get(name, 0.0) for name, part in parts.items()}
    return torch.stack(list(sums.values())).mean(), sums


def roundings(nodes, scale=1.0, dtype=torch.float64):
    """The largest difference of sums along a path, over all nodes, and over the words.

    Scores are cosines times a scale.
    """
    return bound(nodes + WORDS, max(1.0, scale), dtype)


def in_batch_order(batch, roots):
    """The reference's nodes, breadth first over all sentences."""
    level, nodes = list(roots), []
    while level:
        nodes += level
        level = [child for node in level for child in node.children]
    assert len(nodes) == batch.nodes
    return nodes


def vocabulary(words=WORDS):
    return Vocabulary([str(word) for word in range(words)])


def tree_training(settings):
    return StraeTraining(settings, settings.make_model(WORDS).double(), vocabulary())


def write_records(file, texts, field="text"):
    """The file of these texts, each a record."""
    write(file, *({"id": str(number), field: text} for number, text in enumerate(texts)))
    return file


def trained(name, folder, texts, field="text", **values):
    """A model that was trained on texts, from its folder."""
    train_on(write_records(folder.parent / "texts.jsonl", texts, field), name, folder, **values)
    return open_model(str(folder))[0]


def nested(words):
    """The right-branching tree over words, in brackets."""
    return f"(X {words[0]})" if len(words) == 1 else f"(X (X {words[0]}) {nested(words[1:])})"
