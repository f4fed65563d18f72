"""Baselines without trees: fastText against its library, Bi-LSTM and RoBERTa against slow ones."""

import multiprocessing
import signal

import numpy as np
import orjson
import pytest
import torch
from floret.floret import floret as library
from hypothesis import given, settings
from hypothesis import strategies as st
from structkit_plugins.methods._skip_grams import NGrams, learned, trained
from structkit_plugins.methods._word_vectors import WordVectors

from structkit import registry
from structkit.commands.train import train
from structkit.errors import UserError
from structkit.learning.encode.encoding import Encoding
from structkit.learning.encoders.model_folder import open_model
from structkit.learning.strae.sentences import Sentences
from structkit.learning.strae.text_models import BiLSTM, RoBERTa
from structkit.learning.strae.text_training import TextIds, TextTraining, padded
from structkit.learning.strae.vocabulary import Vocabulary
from structkit.learning.training.settings import RunOptions
from structkit.learning.training.spool import Spool
from structkit.records.jsonl import Records
from tests.learning.strae import reference_baselines as reference
from tests.tolerances import rounding

ANIMALS = [
    f"the {animal} {verb} the {other}"
    for animal in ("cat", "dog", "fox", "hen")
    for verb in ("sees", "hears", "chases")
    for other in ("bird", "mouse", "worm")
]


def method(name):
    return registry.load("method", name)


@pytest.fixture
def spool(tmp_path):
    file = tmp_path / "texts.jsonl"
    file.write_bytes(b"".join(orjson.dumps({"text": text}) + b"\n" for text in ANIMALS))

    def made(chosen):
        return Spool(Records.read([str(file)]), chosen.prepare)

    return made


@pytest.fixture
def fasttext():
    return method("fasttext")(
        embedding_size=8, epochs=2, learning_rate=0.05, buckets=50_000, window=2
    )


def test_word_vectors_equal_the_librarys(spool, fasttext, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(ANIMALS) + "\n")
    arguments = fasttext.arguments(str(text))
    theirs, rows = trained(arguments), learned(arguments, fasttext.ngrams)
    table = torch.from_numpy(rows.table)
    largest = table.abs().max().item()
    ours = WordVectors(rows.words, table, rows.buckets, fasttext.ngrams, lowercase=True)
    assert "</s>" in ours.words
    known = [word for word in ours.words if word != "</s>"]
    for word in [*known, "chase", "birds", "doghear"]:  # of the last three no row is their own
        vector = library.Vector(8)
        theirs.getWordVector(vector, word)
        reached = {
            "chase": ["<ch", "cha"],
            "birds": ["<bi", "bir"],
            "doghear": ["<do", "dog", "hear"],
        }
        if word in known:
            near = rounding(len(fasttext.ngrams.numbers(word)) + 1, largest)
            np.testing.assert_allclose(np.array(vector), vector_of(ours, word), **near)
            continue
        grams = theirs.getSubwords(word, "strict")
        numbers = [number - len(ours.words) for number in grams[1]]
        assert numbers == fasttext.ngrams.numbers(word)
        rows = np.array(theirs.getInputMatrix())[
            [len(ours.words) + n for n in numbers if n in ours.buckets]
        ]
        assert set(reached[word]) <= set(grams[0])
        near = rounding(len(rows), largest)
        np.testing.assert_allclose(rows.mean(0), vector_of(ours, word), **near)


def vector_of(model, word):
    return model.embed(model.batch([model.bag([word])]))[0].detach().numpy()


@settings(max_examples=60, deadline=None)
@given(
    word=st.text(
        st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=12
    )
)
def test_ngrams_and_their_buckets_equal_the_librarys(word):
    found = TINY.getSubwords(word, "strict")
    ngrams = NGrams(3, 6, 1000)
    words = len(TINY.getVocab("strict")[0])
    if TINY.getWordId(word) >= 0:
        found = (found[0][1:], found[1][1:])
    assert found[0] == list(ngrams.of(word))
    assert [number - words for number in found[1]] == ngrams.numbers(word)


@pytest.fixture(scope="module", autouse=True)
def tiny(tmp_path_factory):
    global TINY
    file = tmp_path_factory.mktemp("tiny") / "text.txt"
    file.write_text("a b a b a b\n" * 5)
    chosen = method("fasttext")(embedding_size=2, epochs=1, buckets=1000)
    TINY = trained(chosen.arguments(str(file)))
    return TINY


def test_a_sentence_is_the_mean_of_its_words():
    table = torch.tensor([[4.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
    ngrams = NGrams(3, 3, 1)  # one bucket for all n-grams
    model = WordVectors(["ab", "c"], table, [0], ngrams, lowercase=True)
    # "ab" has <ab and ab>: (row 0 + twice row 2) / 3; "c" has <c>: (row 1 + row 2) / 2
    expected = [[(8 / 3 + 1) / 2, (4 / 3 + 2) / 2], [1.0, 2.0], [0.0, 0.0], [2.0, 2.0]]
    texts = [["AB", "c"], ["c"], [], ["unknown"]]
    found = model.embed(model.batch([model.bag(words) for words in texts]))
    torch.testing.assert_close(found, torch.tensor(expected), **rounding(3, 4.0))
    assert [] == model.truncation.messages()
    lost = WordVectors(["ab"], table, [], NGrams(3, 3, 1), lowercase=True)
    assert 0 == len(lost.bag(["unknown"]))
    assert (
        "1 of 1 words (100.0%) share no n-gram with the training" in lost.truncation.messages()[0]
    )


def text_model(name):
    torch.manual_seed(0)
    model = BiLSTM(9, 6, 1.0) if name == "bi-lstm" else RoBERTa(9, 6, 11, heads=2, layers=3)
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
    return padded(found, torch.device("cpu"))


@pytest.mark.parametrize("name", ["bi-lstm", "roberta"])
@settings(max_examples=15, deadline=None)
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


@settings(max_examples=15, deadline=None)
@given(texts=st.lists(IDS, min_size=1, max_size=4))
def test_the_loss_and_gradients_of_bi_lstm_equal_the_plain_versions(texts):
    model = text_model("bi-lstm")
    weights = dict(model.named_parameters())
    losses = [loss for ids in texts for loss in reference.bi_lstm(ids, weights)[1]]
    expected = torch.stack(losses).mean()
    chosen = method("bi-lstm")(embedding_size=6, embedding_dropout=0.0)
    vocabulary = Vocabulary([str(number) for number in range(9)], lowercase=True)
    training = TextTraining(chosen, model, vocabulary, Sentences([])).eval()
    # two portions count as one batch
    parts = [batch_of(part, [False] * len(part)) for part in (texts[:1], texts[1:]) if part]
    found = training.backward(parts)
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
    model.states = lambda batch, dropout: (
        seen.append(batch.ids),
        [torch.zeros(*batch.ids.shape, 6).double()],
    )[1]
    texts = [[number % 9 for number in range(40)]] * 50 + [[1]]
    batch = batch_of(texts, [False] * 51)
    _, ids, bias = model.learned(batch, 0.0)
    changed = seen[0] != batch.ids
    hidden = seen[0] == 9
    share = len(ids) / (50 * 40 + 1)
    assert 0.12 < share < 0.18
    assert 0.75 < hidden.sum() / len(ids) < 0.85  # eight of ten
    assert 0.04 < (changed & ~hidden).sum() / len(ids) < 0.13  # one of ten, or by chance the same
    assert not changed[50, 1:].any()  # padding is not predicted
    assert 9 == len(bias)


def test_parameters_without_embeddings_are_the_published_ones():
    lstm, roberta = method("bi-lstm")().untrained(5), method("roberta")().untrained(5)
    count = sum(weight.numel() for name, weight in lstm.named_parameters() if name != "embedding")
    assert 181_800 == count  # StrAE, table 5
    layers = sum(
        weight.numel()
        for name, weight in roberta.named_parameters()
        if name.startswith("layers.") and not name.endswith(".distance")
    )
    assert 3_950_232 == layers  # embeddings, those of distances too, and the head do not count


SMALL = {
    "fasttext": {"buckets": 2000, "epochs": 3, "learning_rate": 0.05},
    "bi-lstm": {"epochs": 10, "batch_size": 8, "learning_rate": 0.01},
    "roberta": {"epochs": 10, "batch_size": 8, "learning_rate": 0.01, "vocabulary_size": 400}
    | {"layers": 2, "inner_size": 16, "heads": 2},
}


def check_leaves(folder):
    """A record with only a tree is encoded by its leaves, as it is trained."""
    encoding = Encoding(folder, "document")
    trees = [
        "(X (X the) (X (X cat) (X sees)))",
        "(S (NP the (N cat)) (VP sees))",
        "(S the cat sees)",
    ]
    records = [{"text": "the cat sees"}, *({"tree": tree} for tree in trees)]
    records += [{"text": "cat"}, {"tree": "(NN cat)"}, {"tree": "(S (NN cat))"}]
    texts = encoding.texts({"id": "1", **record} for record in records)
    found = np.array([row["embedding"] for row in encoding.embeddings(texts)])
    assert np.array_equal(found[[1, 2, 3]], found[[0, 0, 0]])
    assert np.array_equal(found[[5, 6]], found[[4, 4]])
    with pytest.raises(UserError, match="is not closed"):
        next(encoding.texts([{"id": "1", "tree": "(X (X a)"}]))


@pytest.mark.parametrize("name", SMALL)
def test_training_is_repeatable_learns_and_encodes(name, tmp_path):
    texts = tmp_path / "texts.jsonl"
    texts.write_bytes(b"".join(orjson.dumps({"text": text}) + b"\n" for text in ANIMALS))
    chosen = method(name)(embedding_size=8, **SMALL[name])
    for folder in ("first", "second"):
        options = RunOptions(output=str(tmp_path / folder), quiet=True)
        summary = train(name, chosen, [str(texts)], options)
    if name != "fasttext":
        losses = summary["losses"]["loss"]
        assert losses["last"] < 0.9 * losses["first"]
    first, second = (tmp_path / folder / "model.safetensors" for folder in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    names = {file.name for file in (tmp_path / "first").iterdir()}
    assert names <= {"model.safetensors", "vocabulary.json", "tokenizer.json", "structkit.json"}

    model, _ = open_model(str(tmp_path / "first"))
    check_leaves(str(tmp_path / "first"))
    wanted = ["the cat sees the bird", "dogs", "The hen, chases!", "fox"]
    inputs = model.inputs(wanted, "document")
    together = model.embed(model.batch(inputs))
    assert (4, 8) == together.shape
    for place, each in enumerate(inputs):
        near = rounding(4 * 8 * len(wanted[0].split()), together.abs().max().item())
        torch.testing.assert_close(model.embed(model.batch([each]))[0], together[place], **near)


def test_ctrl_c_ends_the_librarys_training(tmp_path):
    def press(number, frame):
        raise KeyboardInterrupt

    text = tmp_path / "text.txt"
    text.write_text("\n".join(ANIMALS * 50) + "\n")
    chosen = method("fasttext")(epochs=1_000_000, buckets=1000)
    before = signal.signal(signal.SIGALRM, press)
    signal.setitimer(signal.ITIMER_REAL, 2)
    try:
        with pytest.raises(KeyboardInterrupt):
            learned(chosen.arguments(str(text)), chosen.ngrams)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert [] == multiprocessing.active_children()


def test_what_the_library_refuses_is_one_clear_line(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("each word once\n")
    chosen = method("fasttext")(buckets=1000)
    with pytest.raises(
        UserError, match="fastText cannot learn from this: Empty vocabulary.*--minimum-count"
    ):
        learned(chosen.arguments(str(text)), chosen.ngrams)
