"""A model that is loaded once: arrays as the command writes them, and Ctrl-C at any time."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import python

import structkit

INTERRUPTED = Path(__file__).with_name("interrupted.py")
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
    np.testing.assert_array_equal(whole[0], model.encode("hot tea and ice"))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such timers")
def test_ctrl_c_leaves_no_file_and_the_model_as_it_was(tmp_path):
    """In a process of its own: who interrupts this one may hit what other tests have loaded."""
    done = python("-X", "faulthandler", INTERRUPTED, TMPDIR=str(tmp_path))
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)
