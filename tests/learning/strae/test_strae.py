"""StrAE: the batched model against a recursive one in float64, and the command around it."""

import json
import random
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from structkit import registry
from structkit.commands.train import train
from structkit.errors import UserError
from structkit.learning.encoders.model_folder import open_model
from structkit.learning.strae import losses as tree_losses
from structkit.learning.strae.batches import TreeBatch
from structkit.learning.strae.losses import contrastive_loss, unit, vocabulary_loss
from structkit.learning.strae.model import StrAE, dropout_noise
from structkit.learning.strae.sentences import Sentence
from structkit.learning.strae.training import StraeTraining
from structkit.learning.strae.vocabulary import Vocabulary
from structkit.learning.training.plan import Step
from structkit.learning.training.settings import RunOptions
from tests.learning.strae import reference_strae as reference
from tests.tolerances import bound

Method = registry.load("method", "strae")
WORDS = 30


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


def model(seed=0, *, size=20, channels=5, untied=False, dtype=torch.float64):
    torch.manual_seed(seed)
    return StrAE(WORDS, size, channels, 1.0, untied=untied).to(dtype).eval()


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


def test_composition_may_start_as_a_sum():
    method = registry.load("method", "strae")
    words = method(embedding_size=6, channels=2, composition_init="sum").untrained(WORDS).eval()
    tree = Sentence(np.array([3, 1, 2], np.int32), np.array([1, 2, 2], np.int32))
    batch, up, down = words.both_ways([tree])
    first, second, third = words.embedding[[3, 1, 2]]
    half = (second + third) / 2**0.5
    root = (first + half) / 2**0.5
    torch.testing.assert_close(up, torch.stack([root, first, half, second, third]))
    part = root / 2**0.5
    torch.testing.assert_close(down, torch.stack([root, part, part, part / 2**0.5, part / 2**0.5]))
    assert method().composition_init == "uniform"
    maps = method(embedding_size=6, channels=2).untrained(WORDS)
    assert maps.compose.bias.abs().min() > 0


def losses(model, sentences, scale, *, mask_duplicates=False):
    """Both losses of the fast version."""
    batch, up, down = model.both_ways(sentences)
    same = batch.same if mask_duplicates else None
    if batch.in_trees is not None:
        up, chosen = up[batch.in_trees], batch.in_trees
        same = None if same is None else same[chosen]
        contrastive = contrastive_loss(up, down[chosen], scale, same)
    else:
        contrastive = contrastive_loss(up, down, scale, same)
    lengths = torch.from_numpy(batch.lengths).to(down)[batch.sentence[batch.leaves]]
    weights = 1 / (lengths * batch.sentences)
    head = (model.head.weight, model.head.bias) if model.head else (model.embedding, None)
    return contrastive, vocabulary_loss(down[batch.leaves], *head, batch.ids, weights)


def expected_losses(values, roots, scale, *, mask_duplicates=False):
    nodes = [node for root in roots if root.children for node in root.all()]
    each = [reference.cross_entropy(root, values) for root in roots]
    contrastive = reference.contrastive(nodes, scale, mask_duplicates)
    return contrastive, torch.stack(each).mean()


def check(seed, lengths, shapes, scale, dtype, *, untied=False, mask_duplicates=False):
    """Embeddings, losses and all gradients agree with the reference."""
    trees, sentences = sample(seed, lengths, shapes)
    fast = model(seed, untied=untied, dtype=dtype)
    values = plain(fast)
    roots = [
        reference.both_ways(tree, sentence.ids.tolist(), values)
        for tree, sentence in zip(trees, sentences, strict=True)
    ]
    batch, up, down = fast.both_ways(sentences)
    nodes = in_batch_order(batch, roots)
    near = roundings(batch.nodes, scale, dtype)
    assert difference(torch.stack([node.up.reshape(-1) for node in nodes]), up) <= near
    assert difference(torch.stack([node.down.reshape(-1) for node in nodes]), down) <= near
    found = losses(fast, sentences, scale, mask_duplicates=mask_duplicates)
    expected = expected_losses(values, roots, scale, mask_duplicates=mask_duplicates)
    wanted = [weight for name, weight in values.items() if name != "channels"]
    for one, other in zip(expected, found, strict=True):
        assert difference(one, other) <= near
        theirs = torch.autograd.grad(one, wanted, retain_graph=True, allow_unused=True)
        ours = gradients(other, list(fast.parameters()))
        for want, weight, got in zip(theirs, wanted, ours, strict=True):
            assert difference(torch.zeros_like(weight) if want is None else want, got) <= near


SHAPES = ("right", "left", "balanced", "random")


@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 1 << 30),
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=6).filter(lambda some: max(some) > 1),
    temperature=st.sampled_from([0.01, 0.03, 0.2, 0.6, 5.0]),
    dtype=st.sampled_from([torch.float64, torch.float32]),
    flags=st.tuples(st.booleans(), st.booleans()),
)
def test_embeddings_losses_and_gradients_agree(seed, lengths, temperature, dtype, flags):
    untied, mask = flags
    # a score of 100 has only 5 digits after the point in float32
    temperature = temperature if dtype == torch.float64 else max(temperature, 0.2)
    check(seed, lengths, SHAPES, 1 / temperature, dtype, untied=untied, mask_duplicates=mask)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_long_sentences_agree(shape, dtype):
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)  # the reference goes down 300 levels
    try:
        check(1, [300, 1, 40, 2], (shape,), 5.0, dtype)
    finally:
        sys.setrecursionlimit(limit)


def test_gradients_pass_gradcheck():
    torch.manual_seed(0)
    _, sentences = sample(2, [1, 4, 5])
    fast = model(2, size=6, channels=3)
    batch = TreeBatch.of(sentences)
    noise = torch.rand(len(batch.inner), 6, dtype=torch.float64)
    double = torch.rand(len(batch.inner), 12, dtype=torch.float64)
    leaves = torch.randn(len(batch.ids), 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: fast.upward(batch, x, noise), leaves)
    roots = torch.randn(3, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: fast.downward(batch, x, double), roots)
    up, down = (torch.randn(7, 6, dtype=torch.float64, requires_grad=True) for _ in range(2))
    same = torch.tensor([0, 1, 0, 2, 3, 1, 4])
    for scale in (5.0, 50.0):
        assert torch.autograd.gradcheck(contrastive_loss, (up, down, scale, same))
    assert torch.autograd.gradcheck(unit, up)
    short = (1e-9 * up).detach().requires_grad_()
    assert torch.autograd.gradcheck(unit, short, eps=1e-12)
    table = torch.randn(9, 6, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(9, dtype=torch.float64, requires_grad=True)
    targets, weights = torch.tensor([0, 3, 3, 8, 1, 2, 0]), torch.rand(7, dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda *some: vocabulary_loss(*some, targets, weights), (down, table, bias)
    )
    far = table * 60  # scores of which the exponential would overflow in float32
    assert torch.autograd.gradcheck(
        lambda x, y: vocabulary_loss(x, y, None, targets, weights),
        (down, far.detach().requires_grad_()),
    )


@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (10, 25_000)])
def test_extreme_scores_stay_finite(shape):
    tokens, words = shape
    vectors = torch.full((tokens, 4), 300.0, requires_grad=True)
    table = torch.full((words, 4), 300.0, requires_grad=True)
    with torch.no_grad():
        table[0] = -300
    targets = torch.zeros(tokens, dtype=torch.int64)
    loss = vocabulary_loss(vectors, table, None, targets, torch.ones(tokens) / tokens)
    loss.backward()
    expected = 720_000 + np.log(words - 1) if words > 1 else 0
    assert loss.item() == pytest.approx(expected, abs=bound(4 + tokens, expected))
    assert vectors.grad.isfinite().all() and table.grad.isfinite().all()


def test_the_same_in_small_blocks_and_recomputed(monkeypatch):
    torch.manual_seed(0)
    up, down, table = (torch.randn(n, 10, dtype=torch.float64) for n in (200, 200, 50))
    targets, weights = torch.randint(50, (200,)), torch.full((200,), 1 / 200, dtype=up.dtype)

    def found():
        leaves = [part.clone().requires_grad_() for part in (up, down, table)]
        whole = contrastive_loss(leaves[0], leaves[1], 5.0)
        whole = whole + vocabulary_loss(leaves[1], leaves[2], None, targets, weights)
        return [whole, *torch.autograd.grad(whole, leaves)]

    expected = found()
    monkeypatch.setattr(tree_losses, "BLOCK", 7000)
    in_blocks = found()
    monkeypatch.setattr(tree_losses, "KEPT", 0)
    for want, got, again in zip(expected, in_blocks, found(), strict=True):
        assert difference(want, got) <= roundings(200, 5.0)
        assert difference(want, again) <= roundings(200, 5.0)


def test_a_loss_worked_by_hand():
    # two nodes; up = (1, 0), (0, 1); down = (1, 0), (1, 1)/√2: cosines 1, .7071; 0, .7071
    up = torch.tensor([[2.0, 0.0], [0.0, 3.0]], dtype=torch.float64)
    down = torch.tensor([[1.0, 0.0], [5.0, 5.0]], dtype=torch.float64)
    a, b, c, d = 1.0, 0.5**0.5, 0.0, 0.5**0.5
    rows = -a + np.log(np.exp(a) + np.exp(b)) - d + np.log(np.exp(c) + np.exp(d))
    columns = -a + np.log(np.exp(a) + np.exp(c)) - d + np.log(np.exp(b) + np.exp(d))
    assert (rows + columns) / 4 == pytest.approx(contrastive_loss(up, down, 1.0).item())


@pytest.mark.parametrize("dropout", [0.1, 0.2, 0.5, 0.99])
def test_dropout_drops_its_share_and_keeps_the_mean(dropout):
    torch.manual_seed(0)
    noise = dropout_noise((999, 333), dropout, torch.zeros(1))
    assert noise.shape == (999, 333)
    error = 4 * (dropout * (1 - dropout) / noise.numel()) ** 0.5  # four standard deviations
    step = 2**-17  # the share is rounded to 16 bits
    assert (noise == 0).double().mean().item() == pytest.approx(dropout, abs=error + step)
    kept = noise[noise > 0].unique().tolist()
    assert kept == pytest.approx([1 / (1 - dropout)], rel=step / (1 - dropout - step))
    # the four draws of one random number are independent of each other
    kept = (noise.flatten()[: 999 * 333 // 4 * 4].view(-1, 4) > 0).double()
    both = torch.corrcoef(kept.T) - torch.eye(4)
    assert both.abs().max() < 4 / len(kept) ** 0.5


def test_no_dropout_is_no_noise():
    assert dropout_noise((2, 3), 0.0, torch.zeros(1)) is None


def test_parameters_are_as_many_as_in_the_paper():
    found = Method().untrained(words=7)
    assert 430 == sum(weight.numel() for weight in found.parameters()) - 7 * 100
    # one number a channel: arXiv 2404.01860
    tiny = Method(channels=100).untrained(words=7)
    assert 7 == sum(weight.numel() for weight in tiny.parameters()) - 7 * 100


def test_an_embedding_does_not_depend_on_its_batch():
    _, sentences = sample(3, [5, 1, 17, 9, 30], SHAPES)
    fast = model(3, dtype=torch.float32)
    together = fast.both_ways(sentences)[1][:5]
    for number, sentence in enumerate(sentences):
        near = roundings(2 * len(sentence), dtype=torch.float32)
        assert difference(fast.both_ways([sentence])[1][0], together[number]) <= near


def test_nodes_know_their_words():
    trees, sentences = sample(4, [6, 1, 9])
    batch = TreeBatch.of(sentences)
    values = plain(model(4))
    roots = [
        reference.upward(tree, sentence.ids.tolist(), values)
        for tree, sentence in zip(trees, sentences, strict=True)
    ]
    expected = [node.words for node in in_batch_order(batch, roots)]
    spans = zip(batch.start, batch.start + batch.width, strict=True)
    assert expected == [tuple(batch.text[start:end].tolist()) for start, end in spans]
    same = batch.same.tolist()
    for one, words in zip(same, expected, strict=True):
        for other, others in zip(same, expected, strict=True):
            assert (words == others) == (one == other)


TREES = [
    "(S (X (X the) (X cat)) (X (X sleeps) (X .)))",
    "(S (X (X A) (X dog)) (X (X (X of) (X (X the) (X cat))) (X barks)))",
    "(X stop)",
    "(X (X The) (X (X dog) (X (X sleeps) (X (X -LRB-) (X (X barks) (X -RRB-))))))",
]


def records(path, trees=TREES, times=3):
    lines = [json.dumps({"id": str(n), "tree": tree}) for n, tree in enumerate(trees * times)]
    path.write_text("\n".join(lines) + "\n")
    return path


def trained(folder, data, **changes):
    values = {"epochs": 2, "batch_size": 5, "embedding_size": 20, "channels": 5} | changes
    return train("strae", Method(**values), [str(data)], RunOptions(output=str(folder), quiet=True))


@pytest.mark.parametrize("objective", ["contrastive", "ce", "both"])
@pytest.mark.parametrize("subwords", [False, True])
def test_a_run_is_the_same_twice(tmp_path, objective, subwords):
    data = records(tmp_path / "trees.jsonl")
    changes = {"subwords": subwords, "vocabulary_size": 400, "objective": objective}
    changes |= {"head": "untied", "mean": "token", "mask_duplicates": True}
    found = [trained(tmp_path / name, data, **changes) for name in ("one", "two")]
    files = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two")]
    assert files[0] == files[1]
    assert found[0]["losses"] == found[1]["losses"]
    parts = {"loss", "contrastive", "ce"} if objective == "both" else {"loss"}
    assert parts == set(found[0]["losses"])
    one, _ = open_model(str(tmp_path / "one"))
    assert (4, 20) == tuple(one.embed(one.batch(one.inputs(TREES))).shape)


def test_a_loss_falls(tmp_path):
    data = records(tmp_path / "trees.jsonl")
    for objective in ("contrastive", "ce"):
        losses = trained(
            tmp_path / objective, data, objective=objective, epochs=60, learning_rate=0.01
        )["losses"]["loss"]
        assert losses["last"] < 0.8 * losses["first"]


def test_rare_and_unknown_words_share_an_embedding_and_are_counted(tmp_path, capsys):
    data = records(tmp_path / "trees.jsonl", times=1)
    values = {"embedding_size": 20, "channels": 5, "max_steps": 0, "final_punct": "keep"}
    train("strae", Method(**values), [str(data)], RunOptions(output=str(tmp_path / "model")))
    expected = "6 of 17 words (35.3%) are not in the vocabulary and share one embedding"
    assert expected in capsys.readouterr().err
    found, facts = open_model(str(tmp_path / "model"))
    assert ["<unk>", "the", "barks", "cat", "dog", "sleeps"] == found.vocabulary.words
    one, other, known = found.embed(found.inputs(["(X zebra)", "(X stop)", "(X CAT)"]))
    assert torch.equal(one, other) and not torch.equal(one, known)
    expected = "2 of 3 words (66.7%) are not in the vocabulary and share one embedding"
    assert [expected] == found.truncation.messages()
    assert (("tree",), "root") == (tuple(facts["query_fields"]), facts["pooling"])


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("(X (X a) (X b) (X c))", "more or less than two children; structkit parse-trees"),
        ("(X (X a) (X b)", "trees.jsonl:2: "),
        ("(X a) (X b)", "trees.jsonl:2: "),
        ("", "trees.jsonl:2: "),
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
    with pytest.raises(UserError, match=r"more than 2 words \(--max-length\): 3; .* or raise it"):
        trained(tmp_path / "model", data, batch_tokens=2)
    trained(tmp_path / "model", data, batch_tokens=2, max_length=3)
    model, _ = open_model(str(tmp_path / "model"))
    assert 3 == len(model.inputs(["(X (X a) (X (X a) (X b)))"])[0])


def test_a_tree_of_another_text_is_named(tmp_path):
    data = tmp_path / "trees.jsonl"
    rows = [{"id": "1", "text": "a  b", "tree": "(X (X a) (X b))"}]
    rows.append({"id": "2", "text": "a c", "tree": "(X (X a) (X b))"})
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UserError, match=r"trees\.jsonl:2: the words of the tree are not those"):
        trained(tmp_path / "model", data)


def test_settings_that_do_not_fit():
    with pytest.raises(UserError, match="--embedding-size 100 is not a multiple of --channels 7"):
        Method(channels=7)
    assert (1e-4, 1e-3, 5e-5) == (
        Method().learning_rate,
        Method(objective="ce").learning_rate,
        Method(learning_rate=5e-5).learning_rate,
    )
    assert (5.0, np.exp(0.2)) == (Method().scale, Method(temperature_form="exp").scale)


@pytest.mark.parametrize("objective", ["contrastive", "ce", "both"])
def test_a_large_batch_is_split_by_leaves(tmp_path, objective):
    """Gradients of passes, weighted by what they are the mean of, add up to the whole."""
    _, sentences = sample(9, [5, 9, 1, 4, 7, 12])
    values = {"objective": objective, "embedding_size": 20, "channels": 5}
    dropout = {"embedding_dropout": 0.0, "composition_dropout": 0.0}
    settings = Method(**values, **dropout, batch_tokens=15)
    training = tree_training(settings, sentences)
    step = Step(0, "train", 0, list(range(6)))
    parts = training.batch([], step)
    assert [[5, 9, 1], [4, 7], [12]] == [[len(sentence) for sentence in part] for part in parts]
    found = training.backward(parts)
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
    near = roundings(sum(nodes), settings.scale)
    assert whole.item() == pytest.approx(found["loss"], abs=near)
    training.zero_grad()
    whole.backward()
    theirs = [weight.grad for weight in training.parameters() if weight.grad is not None]
    for want, got in zip(theirs, ours, strict=True):
        assert difference(want, got) <= near
    if objective == "ce":  # its mean is over sentences: passes change nothing
        together = training.losses(sentences)["ce"]
        assert together.item() == pytest.approx(found["loss"], abs=near)


def tree_training(settings, sentences):
    vocabulary = Vocabulary([str(word) for word in range(WORDS)], lowercase=True)
    return StraeTraining(settings, settings.untrained(WORDS).double(), vocabulary, sentences)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_computes_the_same():
    _, sentences = sample(10, [5, 30, 1, 12])
    for dtype in (torch.float64, torch.float32):
        fast = model(10, dtype=dtype)
        expected = [*losses(fast, sentences, 5.0), fast.both_ways(sentences)[1]]
        trees = [tree.depths.tolist() for tree in fast.induced(sentences)]
        fast.to("cuda")
        found = [*losses(fast, sentences, 5.0), fast.both_ways(sentences)[1]]
        for want, got in zip(expected, found, strict=True):
            assert difference(want, got.cpu()) <= roundings(2 * 48, 5.0, dtype)
        assert trees == [tree.depths.tolist() for tree in fast.induced(sentences)]
