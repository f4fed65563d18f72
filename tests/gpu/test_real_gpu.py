"""What only a real GPU shows: `make gpu-check`. Losses and embeddings are those of the CPU."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from structkit.learning.encoding.encoding import Encoding
from structkit.learning.encoding.settings import EncodingSettings
from tests.jsonl import read
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
ENCODER = {"size": "tiny", "vocabulary_size": 500, "batch_size": 4}
BERT = {**ENCODER, "architecture": "bert"}
WORD_MODEL = {"batch_size": 8, "minimum_count": 1, "embedding_size": 20}
# method and settings
CASES = {
    "contrastive": ("contrastive", BERT),
    "contrastive in bf16 and chunks": ("contrastive", {**BERT, "bf16": True, "chunk_size": 3}),
    "santa": ("santa", ENCODER),
    "santa in bf16 and chunks": ("santa", {**ENCODER, "bf16": True, "chunk_size": 3}),
    "santa without entities": (
        "santa",
        {**BERT, "pooling": "cls", "entity_weight": 0.0, "document_length": 24},
    ),
    "santa in place": ("santa", {**BERT, "pooling": "cls", "chunk_size": 3}),
    "held-out records": ("contrastive", {**BERT, "validate": "records.jsonl"}),
    "a start in bfloat16": ("contrastive", {"model": "half", "batch_size": 4}),
    "seal": ("seal", ENCODER),
    "seal with mcls": ("seal", {**BERT, "pooling": "mcls", "mcls_every": 4}),
    "strae": ("strae", WORD_MODEL),
    "self-strae": ("self-strae", WORD_MODEL),
    "self-strae-plus": ("self-strae-plus", {**WORD_MODEL, "embedding_size": 32}),
    "banyan": ("banyan", {**WORD_MODEL, "embedding_size": 128}),
    "iornn": ("iornn", WORD_MODEL),
    "tree-lstm": ("tree-lstm", WORD_MODEL),
    "bi-lstm": ("bi-lstm", WORD_MODEL),
    "roberta": ("roberta", WORD_MODEL),
}
FILES = {"model", "validate"}  # settings that name something in the folder of the tests


@pytest.fixture
def pairs(tmp_path):
    return write_pairs(tmp_path / "pairs.jsonl", count=40)


def embeddings(folder, file, device, dtype="fp32"):
    settings = EncodingSettings(
        model=str(folder), field=("positive",), engine="torch", offline=True, dtype=dtype
    )
    encoding = Encoding(settings, device=device)
    return np.concatenate([rows for _, rows in encoding.embedded(read(file))])


@pytest.mark.parametrize("name", ["contrastive", "santa", "seal"])
def test_ten_steps_and_an_encoding(name, pairs, tmp_path):
    method, settings = CASES[name]
    train_on(pairs, method, tmp_path / "model", max_steps=10, **settings)
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


def without_dropout(put):
    """Have torch drop nothing: the devices draw other random numbers."""
    prepare = nn.Dropout.__init__
    put(nn.Dropout, "__init__", lambda self, p=0.5, inplace=False: prepare(self, 0.0, inplace))
    put(nn.functional, "dropout", lambda inputs, *args, **kwargs: inputs)
    attend = nn.functional.scaled_dot_product_attention
    all_of_it = lambda *args, **options: attend(*args, **{**options, "dropout_p": 0.0})  # noqa: E731
    put(nn.functional, "scaled_dot_product_attention", all_of_it)


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
    """A BERT that drops nothing, so that all ways to compute it give one loss."""
    small_bert(tmp_path / "start")
    return str(tmp_path / "start")


def curve(folder):
    return [line["loss"] for line in read(folder / "losses.jsonl")]


@pytest.mark.parametrize("changes", [["--bf16"], ["--chunk-size=2"], ["--checkpointing"]], ids=str)
def test_other_ways_to_compute_give_the_same_losses(changes, start, pairs, tmp_path):
    for folder, options in (("plain", []), ("other", changes)):
        subprocess.run(command(pairs, tmp_path / folder, start, *options), check=True)
    near = 2e-2 if "--bf16" in changes else CLOSE
    assert curve(tmp_path / "plain") == pytest.approx(curve(tmp_path / "other"), rel=near)


def command(file, folder, start, *options):
    words = ("train", "contrastive", str(file), "-o", str(folder), "--model", start)
    words += ("--batch-size", "4", "--max-steps", "10", "--log-every", "1")
    return [sys.executable, "-m", "structkit", *words, *options]


def test_a_checkpoint_is_resumed(start, pairs, tmp_path):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    subprocess.run(command(pairs, whole, start), check=True)
    options = ("--save-every", "5", "--log-format", "json")
    process = subprocess.Popen(command(pairs, stopped, start, *options), stderr=subprocess.PIPE)
    for line in process.stderr:
        if line.startswith(b"{") and json.loads(line)["step"] == 6:
            process.terminate()
            break
    process.communicate()
    subprocess.run(command(pairs, stopped, start, "--save-every", "5", "--resume"), check=True)
    assert curve(whole) == pytest.approx(curve(stopped), rel=CLOSE)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_two_gpus_train_as_one(start, pairs, tmp_path):
    for count in ("1", "2"):
        subprocess.run(command(pairs, tmp_path / count, start, "--nproc", count), check=True)
    assert curve(tmp_path / "1") == pytest.approx(curve(tmp_path / "2"), rel=CLOSE)
