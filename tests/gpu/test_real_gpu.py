"""What only a real GPU shows: `make gpu-check`. Losses and embeddings are those of the CPU."""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from structkit.learning.encoding.encoding import Encoding
from structkit.learning.encoding.settings import EncodingSettings
from tests.gpu.cases import CASES, FILES, without_dropout
from tests.jsonl import read, write
from tests.learning.encoders.small import bert_like
from tests.learning.training.materials import small_bert, train_on, write_pairs

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]
CLOSE = 1e-3  # products round to TF32
RANDOM = {
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "random_",
    "normal_",
    "bernoulli_",
}
SETTINGS = {"size": "tiny", "vocabulary_size": 500, "batch_size": 5}
METHODS = {
    "contrastive": {"architecture": "bert"},
    "santa": {},
    "seal": {},
}


@pytest.fixture
def pairs(tmp_path):
    write_pairs(tmp_path / "pairs.jsonl", count=20)
    return tmp_path / "pairs.jsonl"


def embeddings(folder, file, device, dtype="fp32"):
    settings = EncodingSettings(
        model=str(folder), field=("positive",), engine="torch", offline=True, dtype=dtype
    )
    encoding = Encoding(settings, device=device)
    return np.concatenate([rows for _, rows in encoding.embedded(read(file))])


@pytest.mark.parametrize("name", METHODS)
def test_ten_steps_and_an_encoding(name, pairs, tmp_path):
    train_on(pairs, name, tmp_path / "model", max_steps=10, **SETTINGS, **METHODS[name])
    expected = embeddings(tmp_path / "model", pairs, "cpu")
    scale = np.abs(expected).max()
    for dtype, near in (("fp32", CLOSE), ("bf16", 2e-2)):
        made = embeddings(tmp_path / "model", pairs, "cuda", dtype)
        assert np.abs(made - expected).max() <= near * scale, dtype


class RandomOfCpu(TorchDispatchMode):
    """Draws random numbers on the CPU, where a GPU would draw others."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        options, name = kwargs or {}, function.overloadpacket.__name__
        tensors = [each for each in args if isinstance(each, torch.Tensor)]
        device = torch.device(options.get("device") or (tensors[0].device if tensors else "cpu"))
        if name not in RANDOM or device.type != "cuda":
            return function(*args, **options)
        options = {**options, "device": "cpu"} if "device" in options else options
        drawn = function(*tree_map_only(torch.Tensor, torch.Tensor.cpu, args), **options)
        return tensors[0].copy_(drawn) if name.endswith("_") else drawn.to(device)


@pytest.mark.parametrize("name", CASES)
def test_every_method_has_the_losses_of_the_cpu(name, tmp_path, monkeypatch):
    method, settings = CASES[name]
    file = write_pairs(tmp_path / "records.jsonl", 16)
    small_bert(tmp_path / "half", torch.bfloat16)
    settings = settings | {key: str(tmp_path / settings[key]) for key in FILES & settings.keys()}
    without_dropout(monkeypatch.setattr)
    with RandomOfCpu():
        found = train_on(file, method, tmp_path / "gpu", max_steps=3, **settings)["losses"]["loss"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    expected = train_on(file, method, tmp_path / "cpu", max_steps=3, **settings)["losses"]["loss"]
    half = settings.get("bf16") or "bfloat16" in name
    assert expected["first"] == pytest.approx(found["first"], rel=2e-2 if half else CLOSE)
    # Adam makes steps of equal length from gradients that are nearly 0 and differ in their sign
    assert expected["last"] == pytest.approx(found["last"], rel=2e-2 if half else 10 * CLOSE)


@pytest.fixture
def start(tmp_path):
    """The settings of a BERT that drops nothing, so that all ways to compute it give one loss."""
    folder = tmp_path / "start"
    bert_like("bert", folder)
    config = json.loads((folder / "config.json").read_bytes())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


@pytest.fixture
def letters(tmp_path):
    """Records that its tokenizer knows."""
    return write(
        tmp_path / "letters.jsonl",
        *(
            {"id": str(n), "query": f"{x} {y}", "positive": f"{y} {x} " * (n % 5 + 1)}
            for n, (x, y) in enumerate(itertools.permutations("abcdefgh", 2))
        ),
    )


def curve(folder):
    return [line["loss"] for line in read(folder / "losses.jsonl")]


@pytest.mark.parametrize("changes", [["--bf16"], ["--chunk-size=2"], ["--checkpointing"]], ids=str)
def test_other_ways_to_compute_give_the_same_losses(changes, start, letters, tmp_path):
    for folder, options in (("plain", []), ("other", changes)):
        subprocess.run(command(letters, tmp_path / folder, start, *options), check=True)
    near = 2e-2 if "--bf16" in changes else CLOSE
    assert curve(tmp_path / "plain") == pytest.approx(curve(tmp_path / "other"), rel=near)


def command(file, folder, start, *options):
    words = ("train", "contrastive", str(file), "-o", str(folder), "--model", start)
    words += ("--batch-size", "4", "--max-steps", "10", "--log-every", "1")
    return [sys.executable, "-m", "structkit", *words, *options]


def test_a_checkpoint_is_resumed(start, letters, tmp_path):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    subprocess.run(command(letters, whole, start), check=True)
    options = ("--save-every", "5", "--log-format", "json")
    process = subprocess.Popen(command(letters, stopped, start, *options), stderr=subprocess.PIPE)
    for line in process.stderr:
        if line.startswith(b"{") and json.loads(line)["step"] == 6:
            process.terminate()
            break
    process.communicate()
    subprocess.run(command(letters, stopped, start, "--save-every", "5", "--resume"), check=True)
    assert curve(whole) == pytest.approx(curve(stopped), rel=CLOSE)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_two_gpus_train_as_one(start, letters, tmp_path):
    for count in ("1", "2"):
        subprocess.run(command(letters, tmp_path / count, start, "--nproc", count), check=True)
    assert curve(tmp_path / "1") == pytest.approx(curve(tmp_path / "2"), rel=CLOSE)
