"""Held-out records: the model with their lowest loss is kept, also by a run that was stopped."""

import json
from copy import deepcopy
from dataclasses import replace

import pytest
import torch

from structkit.learning.encoders.encoder import open_model
from structkit.learning.training.data import Plan, Spool
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train_method
from structkit.learning.training.trainer import HeldOut
from structkit.records.jsonl import Records
from structkit.registry import load
from tests.jsonl import read, write
from tests.learning.training.materials import SCRATCH, stopping, train_on, weights

WORDS = "the cat dog sleeps barks on a mat and then red house falls".split()
METHODS = {
    "banyan": {"embedding_size": 8, "channels": 4, "minimum_count": 1},
    "bi-lstm": {"embedding_size": 8, "minimum_count": 1},
    "contrastive": {**SCRATCH, "document_length": 16, "learning_rate": 0.01},
}
# at such a rate the last model is not the best one
RISING = {"batch_size": 4, "epochs": 2, "learning_rate": 1.0, "warmup": 0.0, "schedule": "constant"}


def sentences(first, last, way=1):
    """Sentences whose words follow each other, or with `way` 5 others."""
    for n in range(first, last):
        words = [WORDS[(n + way * place) % len(WORDS)] for place in range(5)]
        yield {"id": str(n), "text": " ".join(words), "query": words[0], "positive": words[1]}


@pytest.fixture
def files(tmp_path):
    train = write(tmp_path / "train.jsonl", *sentences(0, 24))
    return train, write(tmp_path / "held.jsonl", *sentences(24, 31, way=-1))


@pytest.mark.parametrize("name", ["banyan", "bi-lstm"])
def test_the_model_with_the_lowest_loss_is_kept(name, files, tmp_path, capsys):
    values = {**RISING, **METHODS[name], "validate": files[1]}
    method = load("method", name)(**values)
    options = RunOptions(output=str(tmp_path / "model"), log_format="json", log_every=1)
    summary = train_method(name, method, [files[0]], options)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line[0] == "{"]
    losses = {line["step"]: line["held_out_loss"] for line in lines if "held_out_loss" in line}
    assert [6, 12] == list(losses)
    best = min(losses, key=losses.__getitem__)
    assert 2 * 24 == summary["seen"]
    found = summary["held_out"]
    assert (losses[6], losses[best], losses[12], best) == tuple(found.values())
    assert best < 12
    # a training of as many steps ends with the same model, but for a rate that falls with them
    again = {**values, "max_steps": best, "validate": None}
    train_on(files[0], name, tmp_path / "best", **again)
    assert weights(tmp_path / "model") == weights(tmp_path / "best")
    assert open_model(str(tmp_path / "model"))[1]["data"]["held_out"]


@pytest.mark.parametrize("name", ["banyan", "contrastive"])
def test_a_stopped_run_goes_on_with_the_best_model_and_its_log(name, files, tmp_path):
    values = {"batch_size": 4, "epochs": 2, "learning_rate": 0.5, **METHODS[name]}
    method = load("method", name)(**values, validate=files[1])
    options = {"quiet": True, "save_every": 3, "log_every": 2}
    whole, parts = (RunOptions(str(tmp_path / each), **options) for each in ("whole", "parts"))
    expected = train_method(name, method, [files[0]], whole)
    with pytest.raises(KeyError, match="stop"):
        ended = stopping(type(method), 9, KeyError("stop"))(**values, validate=files[1])
        train_method(name, ended, [files[0]], parts)
    found = train_method(name, method, [files[0]], replace(parts, resume=True))
    assert expected["held_out"] == found["held_out"] and expected["seen"] == found["seen"] == 2 * 24
    for file in ("model.safetensors", "losses.jsonl"):
        first, second = (tmp_path / each / file for each in ("whole", "parts"))
        assert first.read_bytes() == second.read_bytes(), file
    assert [2, 4, 6, 6, 8, 10, 12, 12] == [line["step"] for line in read(second)]


def test_long_epochs_are_measured_within():
    plan = [Plan(records, batch_size=1, epochs=1, warmup=0.0, seed=0) for records in (7, 10_000)]
    assert [7, 500] == [each.validate_every for each in plan]


@pytest.mark.parametrize("name", METHODS)
def test_what_is_held_out_is_not_counted_and_changes_nothing(name, files):
    method = load("method", name)(**METHODS[name]).complete()
    module = method.build(Spool(Records.read([files[0]]), method.prepare)).train()
    before = {name: weight.clone() for name, weight in module.state_dict().items()}
    counted = deepcopy(vars(module.truncation))
    held_out = HeldOut(module, Spool(Records.read([files[1]]), method.prepare), 4)
    first, second = held_out.measure(1, "train"), held_out.measure(2, "train")
    assert first == second and 1 == held_out.best_step
    assert counted == vars(module.truncation) and module.training
    assert all(torch.equal(before[name], weight) for name, weight in module.state_dict().items())
    assert all(weight.grad is None for weight in module.parameters())


def test_held_out_records_may_have_other_negatives(tmp_path):
    for name, more in ("train", {"negatives": ["c"]}), ("held", {}):
        rows = [{"id": f"{name} {n}", "query": str(n), "positive": "a", **more} for n in range(3)]
        write(tmp_path / f"{name}.jsonl", *rows)
    small = {**SCRATCH, "validate": str(tmp_path / "held.jsonl")}
    summary = train_on(tmp_path / "train.jsonl", "contrastive", tmp_path / "model", **small)
    assert summary["held_out"]
