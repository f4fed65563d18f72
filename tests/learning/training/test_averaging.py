"""The average of the weights, and a training that stops when its held-out loss falls no more."""

import json

import numpy as np
import pytest
import torch
from torch import nn

from structkit.learning.folders.weights import read_weights
from structkit.learning.training.module import HeldOut
from structkit.learning.training.run import train
from structkit.learning.training.settings import RunOptions
from structkit.learning.training.trainer import Trainer, WeightAverage
from structkit.registry import load
from tests.learning.training.test_held_out import Stopped, written
from tests.tolerances import rounding

VALUES = {
    "embedding_size": 8,
    "channels": 4,
    "minimum_count": 1,
    "batch_size": 4,
    "epochs": 2,
    "warmup": 0.0,
    "schedule": "constant",
}


@pytest.fixture
def files(tmp_path):
    return [
        written(tmp_path / "train.jsonl", 0, 24),
        written(tmp_path / "held.jsonl", 24, 31, way=-1),
    ]


def run(files, folder, options=None, **values):
    method = load("method", "banyan")(**VALUES | values)
    return train("banyan", method, files[:1], RunOptions(str(folder), quiet=True, **options or {}))


def test_the_average_by_hand():
    module = nn.Linear(1, 1, bias=False)
    average = WeightAverage(module, decay=0.3)
    for value in (8.0, 4.0, 2.0):
        module.weight.data.fill_(value)
        average.add()
    # decays 2/11 (of 8 and 8), 3/12 and, of 4/13 and 0.3, the lower one
    second = 0.25 * 8 + 0.75 * 4
    with average.inside():
        assert pytest.approx(0.3 * second + 0.7 * 2) == module.weight.item()
    assert 2 == module.weight.item()
    average.finish()
    assert pytest.approx(0.3 * second + 0.7 * 2) == module.weight.item()
    module.weight.data.fill_(1.0)
    average.add()
    average.finish()
    assert 1 == module.weight.item()  # it has started over


def test_the_model_is_the_average_of_its_steps(files, tmp_path, monkeypatch):
    step, seen = Trainer._train, []

    def remembering(self, each):
        step(self, each)
        seen.append(self.module.model.embedding.detach().double().numpy().copy())

    monkeypatch.setattr(Trainer, "_train", remembering)
    run(files, tmp_path / "model", average=0.6)
    expected = seen[0]
    for number, weights in enumerate(seen[1:], 2):
        decay = min(0.6, (1 + number) / (10 + number))
        expected = decay * expected + (1 - decay) * weights
    found = read_weights(tmp_path / "model")["embedding"]
    np.testing.assert_allclose(found, expected, **rounding(3 * len(seen), np.abs(expected).max()))
    assert np.abs(found - seen[-1]).max() > 1e-4


def test_a_stopped_run_goes_on_with_its_average(files, tmp_path, monkeypatch):
    values = {"average": 0.9, "validate": files[1], "every": 2}
    expected = run(files, tmp_path / "whole", **values)
    step = Trainer._train

    def stopping(self, each):
        if each.number == 7:
            raise Stopped
        step(self, each)

    monkeypatch.setattr(Trainer, "_train", stopping)
    with pytest.raises(Stopped):
        run(files, tmp_path / "parts", {"save_every": 3}, **values)
    monkeypatch.setattr(Trainer, "_train", step)
    found = run(files, tmp_path / "parts", {"save_every": 3, "resume": True}, **values)
    assert expected["held_out"] == found["held_out"]
    one, other = (
        (tmp_path / each / "model.safetensors").read_bytes() for each in ("whole", "parts")
    )
    assert one == other


def test_a_training_stops_when_its_loss_falls_no_more(files, tmp_path, monkeypatch):
    losses = []
    look = HeldOut.look

    def remembering(self, *arguments):
        losses.append(look(self, *arguments))
        return losses[-1]

    monkeypatch.setattr(HeldOut, "look", remembering)
    rising = {"learning_rate": 1.0, "validate": files[1], "every": 1}
    run(files, tmp_path / "whole", **rising)
    # the first loss after which two are not below it, nor below any before
    lowest = next(n for n in range(10) if losses[n] == min(losses[: n + 3]))
    assert lowest + 3 < 12
    stopped = run(files, tmp_path / "stopped", **rising, patience=2)
    assert losses[:12][: lowest + 3] == losses[12:]
    assert (lowest + 3, 4 * (lowest + 3)) == (stopped["steps"], stopped["seen"])
    assert lowest + 1 == stopped["held_out"]["step"]
    run(files, tmp_path / "best", **rising | {"max_steps": lowest + 1, "validate": None})
    one, other = (
        (tmp_path / each / "model.safetensors").read_bytes() for each in ("stopped", "best")
    )
    assert one == other
    facts = json.loads((tmp_path / "stopped/structkit.json").read_bytes())
    assert lowest + 3 == facts["steps"]


def test_each_stage_stops_by_itself(files, tmp_path, monkeypatch):
    stages = []
    step = Trainer._train

    def remembering(self, each):
        stages.append(each.stage)
        step(self, each)

    monkeypatch.setattr(Trainer, "_train", remembering)
    monkeypatch.setattr(load("method", "banyan"), "stage_names", ("one", "two"))
    values = {"learning_rate": 1.0, "validate": files[1], "every": 1, "patience": 2}
    summary = run(files, tmp_path / "model", average=0.5, **values)
    assert summary["steps"] == len(stages) and summary["seen"] == 4 * len(stages)
    assert 0 < stages.count("one") < 12 and 0 < stages.count("two") <= 12


def test_weights_that_stay_are_not_averaged():
    module = nn.Linear(2, 2)
    module.bias.requires_grad_(False)
    average = WeightAverage(module, 0.9)
    average.add()
    assert [(2, 2)] == [tuple(mean.shape) for mean in average.means]
    fresh = WeightAverage(nn.Linear(2, 1), 0.9)
    fresh.load(fresh.state())
    assert [] == fresh.means
    again = WeightAverage(module, 0.9)
    again.load(average.state())
    assert 1 == again.steps and torch.equal(again.means[0], module.weight)
