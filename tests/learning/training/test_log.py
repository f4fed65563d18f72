"""The log of a training as JSON lines and as TensorBoard's events, also of a resumed run."""

import json
import sys

import pytest

from structkit.errors import UserError
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train
from structkit.registry import load
from tests.learning.training.materials import stopping, write_sums

Contrastive = load("method", "contrastive")
SETTINGS = {"size": "tiny", "vocabulary_size": 400, "batch_size": 8, "epochs": 2}


def run(tmp_path, kind=Contrastive, **options):
    """Train on forty records, ten steps."""
    data = write_sums(tmp_path / "train.jsonl")
    options = {"output": str(tmp_path / "model"), "log_every": 2, "quiet": True} | options
    method = kind(**SETTINGS, validate=str(data))
    return train("contrastive", method, [str(data)], RunOptions(**options))


def stopped(tmp_path, **options):
    """A run that is stopped after its seventh step, and goes on."""
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, stopping(Contrastive, 7, KeyboardInterrupt), save_every=3, **options)
    return run(tmp_path, resume=True, **options)


def curves(folder):
    """The steps and values of each of TensorBoard's curves."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(folder))
    read.Reload()
    tags = read.Tags()["scalars"]
    return {tag: [(each.step, each.value) for each in read.Scalars(tag)] for tag in tags}


def kept(tmp_path):
    """The log in the model folder."""
    text = (tmp_path / "model" / "losses.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("resumed", [False, True])
def test_json_lines_are_those_of_the_model_folder(tmp_path, resumed):
    file = tmp_path / "logs" / "run.jsonl"
    if resumed:
        stopped(tmp_path, log_file=str(file))
    else:
        run(tmp_path, log_file=str(file))
    assert file.read_text() == (tmp_path / "model" / "losses.jsonl").read_text()
    steps = [line["step"] for line in kept(tmp_path)]
    assert sorted(steps) == steps and 10 == steps[-1]


@pytest.mark.parametrize("resumed", [False, True])
def test_tensorboard_reads_each_number_once(tmp_path, resumed):
    pytest.importorskip("tensorboard")
    folder = tmp_path / "events"
    if resumed:
        stopped(tmp_path, log_file=str(folder))
    else:
        run(tmp_path, log_file=str(folder))
    found = curves(folder)
    for name in ("loss", "learning_rate", "held_out_loss"):
        lines = [(line["step"], line[name]) for line in kept(tmp_path) if name in line]
        assert [pytest.approx(each, rel=1e-6) for each in lines] == found[name]


def test_another_run_replaces_the_log(tmp_path):
    file = tmp_path / "run.jsonl"
    file.write_text("an older one\n")
    run(tmp_path, log_file=str(file))
    assert kept(tmp_path) == [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("model", "one is the other, or inside it"),
        ("train.jsonl/log.jsonl", "train.jsonl"),
        ("train.jsonl", "is the input"),
    ],
)
def test_a_log_that_cannot_be_written_says_so(tmp_path, name, message):
    with pytest.raises(UserError, match=message):
        run(tmp_path, log_file=str(tmp_path / name))
    assert not (tmp_path / "model").exists()


def test_the_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(UserError, match="needs the package tensorboard; pip install tensorboard"):
        run(tmp_path, log_file=str(tmp_path / "events"))
    run(tmp_path, log_file=str(tmp_path / "run.jsonl"))
