"""fastText's word vectors are the library's; a sentence is the mean of its words."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from conftest import as_at_a_prompt, environment, python
from floret.floret import floret as library
from hypothesis import given
from hypothesis import strategies as st
from structkit_plugins.papers.methods._fasttext import WordVectors
from structkit_plugins.papers.methods._ngrams import buckets_of, ngrams
from structkit_plugins.papers.methods.fasttext import learn, train_library

from structkit import registry
from tests.learning.strae.samples import ANIMALS
from tests.tolerances import rounding

Method = registry.load("method", "fasttext")


@pytest.fixture
def fasttext():
    return Method(embedding_size=8, epochs=2, learning_rate=0.05, buckets=50_000)


def test_word_vectors_equal_the_librarys(fasttext, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(ANIMALS) + "\n")
    arguments = fasttext.arguments(str(text))
    theirs, (words, buckets, table) = train_library(arguments), learn(arguments)
    largest = np.abs(table).max()
    ours = WordVectors(fasttext, words, torch.from_numpy(table), buckets)
    assert "</s>" in ours.words
    for word in ours.words:
        if word != "</s>":
            vector = library.Vector(8)
            theirs.getWordVector(vector, word)
            near = rounding(len(buckets_of(word, 50_000)) + 1, largest)
            found = ours.embed(ours.batch([ours.bag([word])]))[0].detach()
            np.testing.assert_allclose(found, np.array(vector), **near)


@given(
    word=st.text(
        st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=12
    )
)
def test_ngrams_and_their_buckets_equal_the_librarys(word):
    found = TINY.getSubwords(word, "strict")
    words = len(TINY.getVocab("strict")[0])
    if TINY.getWordId(word) >= 0:
        found = (found[0][1:], found[1][1:])
    assert found[0] == list(ngrams(word))
    assert [number - words for number in found[1]] == buckets_of(word, 1000)


@pytest.fixture(scope="module", autouse=True)
def tiny(tmp_path_factory):
    global TINY
    file = tmp_path_factory.mktemp("tiny") / "text.txt"
    file.write_text("a b a b a b\n" * 5)
    chosen = Method(embedding_size=2, epochs=1, buckets=1000)
    TINY = train_library(chosen.arguments(str(file)))
    return TINY


def test_a_sentence_is_the_mean_of_its_words():
    table = torch.tensor([[4.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
    method = Method(buckets=1)  # for all n-grams
    model = WordVectors(method, ["ab", "c"], table, [0])
    # "ab" has <ab, <ab> and ab>: (row 0 + row 2 three times) / 4; "c" has <c>: (row 1 + row 2) / 2
    expected = [[(2.5 + 1) / 2, (1.5 + 2) / 2], [1.0, 2.0], [0.0, 0.0], [2.0, 2.0]]
    texts = [["AB", "c"], ["c"], [], ["unknown"]]
    found = model.embed(model.batch([model.bag(words) for words in texts]))
    torch.testing.assert_close(found, torch.tensor(expected), **rounding(3, 4.0))
    assert [] == model.truncation.messages()
    lost = WordVectors(method, ["ab"], table, [])
    assert 0 == len(lost.bag(["unknown"]))
    assert (
        "1 of 1 words (100.0%) share no n-gram with the training" in lost.truncation.messages()[0]
    )


LEARNING = """
import json, sys
from structkit_plugins.papers.methods.fasttext import learn

learn(json.loads(sys.argv[1]))
"""


SCRIPT = """
import structkit

few = {"epochs": 1, "buckets": 100, "embedding_size": 4, "minimum_count": 1, "quiet": True}
print(structkit.train("fasttext", [{"text": "a cat and a dog"}], output="model", **few)["records"])
"""


@pytest.mark.long
def test_a_script_may_train_without_a_guard(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = python("script.py", cwd=tmp_path)
    assert (0, "1\n", "") == (done.returncode, done.stdout, done.stderr)


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="others have no such call")


@pytest.mark.long
@pytest.mark.parametrize("sent", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=LINUX)])
def test_the_librarys_training_ends_with_the_process_that_started_it(tmp_path, fasttext, sent):
    text = tmp_path / "text.txt"
    os.mkfifo(text)  # the library waits until somebody writes a line
    program = subprocess.Popen(
        [sys.executable, "-c", LEARNING, json.dumps(fasttext.arguments(str(text)))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        preexec_fn=as_at_a_prompt,
        start_new_session=True,  # so that these tests hear nothing
    )
    while (lines := end_of(text)) is None:
        assert program.poll() is None
        time.sleep(0.02)
    program.send_signal(sent)
    told = program.communicate(timeout=30)[1]  # its child, too, has closed the pipes
    os.close(lines)
    assert told.endswith(b"KeyboardInterrupt\n" if sent == signal.SIGINT else b"")


def end_of(pipe):
    """The end of a named pipe for writing; None while it has no reader."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None
