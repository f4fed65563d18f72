"""Baselines without trees: fastText against its library, Bi-LSTM and RoBERTa against slow ones."""

import numpy as np
import orjson
import pytest
import torch
from floret.floret import floret as library
from hypothesis import given, settings
from hypothesis import strategies as st

from structkit import registry
from structkit.jsonl import Records
from structkit.learning.spool import Spool
from structkit.learning.word_vectors import NGrams, WordVectors

ANIMALS = [
    f"the {animal} {verb} the {other}"
    for animal in ("cat", "dog", "fox", "hen")
    for verb in ("sees", "hears", "chases")
    for other in ("bird", "mouse", "worm")
]


def method(name):
    return registry.load("method", name).Method


@pytest.fixture
def spool(tmp_path):
    file = tmp_path / "texts.jsonl"
    file.write_bytes(b"".join(orjson.dumps({"text": text}) + b"\n" for text in ANIMALS))

    def made(chosen):
        return Spool(Records.read([str(file)]), (), (), None, chosen.prepare)

    return made


@pytest.fixture
def fasttext():
    return method("fasttext")(
        embedding_size=8, epochs=2, learning_rate=0.05, buckets=50_000, window=2
    )


def test_word_vectors_equal_the_librarys(spool, fasttext, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(ANIMALS) + "\n")
    theirs = fasttext.trained(str(text))
    ours = fasttext.word_vectors(theirs)
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
            assert np.allclose(np.array(vector), vector_of(ours, word), atol=1e-6), word
            continue
        grams = theirs.getSubwords(word, "strict")
        numbers = [number - len(ours.words) for number in grams[1]]
        assert numbers == fasttext.ngrams.numbers(word)
        rows = np.array(theirs.getInputMatrix())[
            [len(ours.words) + n for n in numbers if n in ours.buckets]
        ]
        assert set(reached[word]) <= set(grams[0])
        assert np.allclose(rows.mean(0), vector_of(ours, word), atol=1e-6), word


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
    TINY = chosen.trained(str(file))
    return TINY


def test_a_sentence_is_the_mean_of_its_words():
    table = torch.tensor([[4.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
    ngrams = NGrams(3, 3, 1)  # one bucket for all n-grams
    model = WordVectors(["ab", "c"], table, [0], ngrams, lowercase=True)
    # "ab" has <ab and ab>: (row 0 + twice row 2) / 3; "c" has <c>: (row 1 + row 2) / 2
    expected = [[(8 / 3 + 1) / 2, (4 / 3 + 2) / 2], [1.0, 2.0], [0.0, 0.0], [2.0, 2.0]]
    texts = [["AB", "c"], ["c"], [], ["unknown"]]
    found = model.embed(model.batch([model.bag(words) for words in texts]))
    assert np.allclose(expected, found.detach().numpy())
    assert [] == model.truncation.messages()
    lost = WordVectors(["ab"], table, [], NGrams(3, 3, 1), lowercase=True)
    assert 0 == len(lost.bag(["unknown"]))
    assert (
        "1 of 1 words (100.0%) share no n-gram with the training" in lost.truncation.messages()[0]
    )
