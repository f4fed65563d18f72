"""A model that is loaded once: arrays as the command writes them, and Ctrl-C at any time."""

import gc
import json
import signal
import sys
from contextlib import suppress

import numpy as np
import pytest

import structkit
from structkit.learning.encoding.reading import WINDOW

WORDS = ("the river", "runs to", "the sea", "a boat", "on the river", "is slow")
RECORDS = [
    {"id": str(number), "query": one, "positive": f"{one} {other} " * 9, "tree": f"({one})"}
    for number, (one, other) in enumerate(zip(WORDS * 2, WORDS[::-1] * 2, strict=True))
]
STEPS = {"max_steps": 1, "log_every": 1}
METHODS = {
    "contrastive": {"size": "tiny", "vocabulary_size": 400, "query_length": 8, **STEPS},
    "static": {"dimensions": 8, "vocabulary_size": 400},
    "strae": {"minimum_count": 1, "embedding_size": 8, "channels": 2, **STEPS},
}
LONG = [pytest.param(name, marks=pytest.mark.long) for name in ("contrastive", "strae")]


@pytest.mark.parametrize("method", ["static", *LONG])
def test_an_array_is_what_the_command_writes(method, run, tmp_path, capsys):
    structkit.train(method, RECORDS, output=tmp_path / "model", **METHODS[method])
    assert "step" not in capsys.readouterr().err  # no progress, unless by log_format="json"
    model = structkit.load(tmp_path / "model")
    lines = "".join(json.dumps(each) + "\n" for each in RECORDS)
    for side in ("query", "document", "query"):
        done = run("encode", "-m", "model", "--as", side, "-o", "v.npy", input=lines)
        assert 0 == done.returncode, done.stderr
        expected, found = np.load(tmp_path / "v.npy"), model.encode(iter(RECORDS), as_=side)
        assert (np.float32, expected.shape) == (found.dtype, found.shape)
        np.testing.assert_allclose(found, expected, atol=1e-6, rtol=0)
    assert (0, expected.shape[1]) == model.encode([]).shape


def test_a_length_is_that_of_one_call(capsys):
    model = structkit.load("builtin", normalize=True)
    whole, cut = (model.encode(["hot tea and ice"], length=length) for length in (None, 2))
    assert not np.allclose(whole, cut)
    told = "structkit: 1 of 1 document texts were longer than length and were truncated (100%)\n"
    assert told == capsys.readouterr().err
    nested = model.encode(str(len(model.encode([text]))) for text in ["hot", "tea"])  # no deadlock
    np.testing.assert_array_equal(nested, model.encode(["1", "1"]))
    np.testing.assert_array_equal(whole, model.encode(["hot tea and ice"]))


@pytest.fixture
def ctrl_c():
    """A function that has Ctrl-C come after some seconds, wherever the program then is.

    It gives a list that is empty until then: where no exception can be raised, it is only told.
    """
    come: list[int] = []

    def interrupt(number, frame):
        come.append(number)
        raise KeyboardInterrupt

    def after(seconds):
        come.clear()
        signal.setitimer(signal.ITIMER_REAL, seconds)
        return come

    before = signal.signal(signal.SIGALRM, interrupt)
    yield after
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such timers")
def test_ctrl_c_leaves_no_file_and_the_model_as_it_was(tmp_path, monkeypatch, capsys, ctrl_c):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    model, texts = structkit.load("builtin"), ["hot tea and ice", "slow boats"]
    expected = model.encode(texts)
    many = [f"{text} {number}" for number in range(WINDOW) for text in texts]
    rows = [{"text": each} for each in many]
    list(structkit.search(rows, query=texts, method="bm25"))  # an import is Python's to end well
    for wait in (0.001, 0.004, 0.016, 0.064):
        with suppress(KeyboardInterrupt):
            come = ctrl_c(wait)
            while not come:
                model.encode(many, as_="query", length=1)
        capsys.readouterr()  # calls that came to an end
        np.testing.assert_array_equal(expected, model.encode(texts))
        with suppress(KeyboardInterrupt):
            come = ctrl_c(wait)
            while not come:
                list(structkit.search(rows, query=texts, method="bm25"))
        gc.collect()  # of a generator that was stopped before it began
        assert [] == list(tmp_path.iterdir())
    assert "" == capsys.readouterr().err
