"""A model with pickled weights, converted: structkit reads it, and the pickle runs nothing."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from conftest import WARM, completed
from safetensors.torch import load_file

from experiments import weights as conversion
from tests.jsonl import write


@pytest.fixture
def model(tmp_path):
    """A tiny T5 as older models on the Hub are: pickled, two tensors sharing their memory."""
    one = {"query": "read a file", "positive": "def read(): pass", "masked": "a", "target": "b"}
    some = [one, {**one, "query": "write a file", "positive": "def write(): pass"}]
    records = write(tmp_path / "some.jsonl", *some)
    command = [*WARM, "train", "santa", records, "--max-steps", "0", "-q", "--size", "tiny"]
    completed([*command, "--vocabulary-size", "600", "-o", f"{tmp_path}/t5"], check=True)
    folder = tmp_path / "t5"
    weights = load_file(folder / "model.safetensors")
    weights["encoder.embed_tokens.weight"] = weights["shared.weight"]
    torch.save(weights, folder / "pytorch_model.bin")
    for name in ("model.safetensors", "structkit.json", "modules.json"):
        (folder / name).unlink(missing_ok=True)
    return folder


def test_a_converted_model_is_read(model, tmp_path):
    records = f"{tmp_path}/some.jsonl"
    refused = completed(
        [*WARM, "train", "santa", records, "--model", f"{model}", "-o", "x"], text=True
    )
    assert "as a pickle (pytorch_model.bin)" in refused.stderr
    command = ["make", "-s", "paper-weights", f"MODEL={model}", f"CONVERTED={tmp_path}/safe"]
    command += ["RUNNABLE=", f"BIN={Path(sys.executable).parent}"]
    done = completed(command, text=True)
    assert 0 == done.returncode, done.stderr
    command = [*WARM, "train", "santa", records, "--model", f"{tmp_path}/safe", "--max-steps", "0"]
    trained = completed([*command, "-o", f"{tmp_path}/trained"], text=True)
    assert 0 == trained.returncode, trained.stderr
    assert json.loads(trained.stdout)["folder"] == f"{tmp_path}/trained"


class Harm:
    """Runs a program when it is unpickled."""

    def __reduce__(self):
        return subprocess.call, (["touch", "harm"],)


def test_a_pickle_that_runs_code_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "pytorch_model.bin").open("wb") as file:
        pickle.dump(Harm(), file, protocol=2)
    monkeypatch.setattr(sys, "argv", ["weights", str(tmp_path), "-o", "safe"])
    with pytest.raises(SystemExit, match="holds more than tensors"):
        conversion.main()
    assert ["pytorch_model.bin"] == os.listdir(tmp_path)
