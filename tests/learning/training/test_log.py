"""The log of a training in its model folder, also of a resumed run."""

import json

import pytest

from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train
from structkit.registry import load
from tests.learning.training.materials import stopping, write_sums

Contrastive = load("method", "contrastive")
SETTINGS = {"size": "tiny", "vocabulary_size": 400, "batch_size": 8, "epochs": 2}


def run(tmp_path, kind=Contrastive, **options):
    """Train on forty records, ten steps."""
    tmp_path.mkdir(exist_ok=True)
    data = write_sums(tmp_path / "train.jsonl")
    options = {"output": str(tmp_path / "model"), "log_every": 2, "quiet": True} | options
    method = kind(**SETTINGS, validate=str(data))
    return train("contrastive", method, [str(data)], RunOptions(**options))


def stopped(tmp_path, **options):
    """A run that is stopped after its seventh step, and goes on."""
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, stopping(Contrastive, 7, KeyboardInterrupt), save_every=3, **options)
    return run(tmp_path, resume=True, **options)


def kept(tmp_path):
    """The log in the model folder."""
    text = (tmp_path / "model" / "losses.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_the_log_of_a_resumed_run_is_that_of_a_whole_one(tmp_path):
    run(tmp_path / "whole")
    stopped(tmp_path / "stopped")
    lines = kept(tmp_path / "whole")
    assert lines == kept(tmp_path / "stopped")
    steps = [line["step"] for line in lines]
    assert sorted(steps) == steps and 10 == steps[-1]
