"""Adapters, compared with peft, transformers, sentence-transformers and a model trained whole."""

import shutil
import sys

import numpy as np
import peft
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from structkit.errors import UserError
from structkit.learning.encoders.encoder import open_model
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train_method
from structkit.registry import load
from tests.jsonl import read, write
from tests.learning.encoders.zoo import edit, first_of, sentence_folder
from tests.learning.training.materials import (
    SCRATCH,
    first_batch,
    gradients,
    stopping,
    train_on,
    weights,
    write_pairs,
)

NEAR = {"atol": 1e-5, "rtol": 0}
TEXTS = ["red green blue", "a b C", "", "white house tree car " * 9]
# a method, and the model that it starts from
CASES = {
    "contrastive": {"architecture": "bert", "pooling": "mean"},
    "santa": {},
    "santa-bert": {"architecture": "bert", "pooling": "cls"},
    "seal": {},
}


def method_of(case):
    return case.removesuffix("-bert").removesuffix("-qwen3").removesuffix("-dense")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("adapters")


@pytest.fixture(scope="module")
def records(place):
    """Records whose texts are letters, which every tokenizer knows."""
    file = write_pairs(place / "records.jsonl")
    texts = ("query", "positive")
    rows = read(file)
    write(file, *(each | {name: " ".join(each[name]) for name in texts} for each in rows))
    return file


@pytest.fixture(scope="module")
def start(place, records):
    """The folder of an untrained model for a case."""

    def start(case):
        folder = place / f"{case}-start"
        if folder.exists():
            return folder
        if case == "contrastive-qwen3":
            return sentence_folder(folder, "Qwen3", pooling="lasttoken")
        train_on(records, method_of(case), folder, **SCRATCH, max_steps=0, **CASES[case])
        return folder

    return start


@pytest.fixture
def built(records, start):
    """A training as it begins, without dropout, and a batch of it."""

    def built(case, **values):
        values = {"model": str(start(case)), "batch_size": 11, "epochs": 1, **values}
        return first_batch(method_of(case), records, **values)[:2]

    return built


def outputs(model):
    with torch.no_grad():
        return model.embed(model.tokens(TEXTS, "document")).numpy()


@pytest.mark.parametrize("case", ["contrastive", "seal", "contrastive-qwen3"])
def test_the_merged_model_is_the_base_with_its_adapter(tmp_path, case, built, start):
    module, _ = built(case, lora_rank=4)
    spread_adapter(module, 0.3)
    expected = outputs(module.encoder)
    module.save(tmp_path)
    before, after = (open_model(str(each))[0] for each in (start(case), tmp_path))
    theirs = SentenceTransformer(str(tmp_path), device="cpu").encode(TEXTS)
    assert np.abs(outputs(before) - expected).max() > 1e-3
    np.testing.assert_allclose(outputs(after), expected, **NEAR)
    np.testing.assert_allclose(theirs, expected, **NEAR)
    assert not [name for name in load_file(tmp_path / "model.safetensors") if "lora" in name]


@pytest.mark.parametrize(
    ("case", "names"),
    [
        ("santa", {"q", "k", "v", "o", "wi", "wo"}),
        ("contrastive", {"query", "key", "value", "dense"}),
    ],
)
def test_all_linear_maps_of_the_layers_have_an_adapter_and_nothing_else(built, case, names):
    module, _ = built(case, lora_rank=3)
    learned = {name for name, each in module.named_parameters() if each.requires_grad}
    assert names == {name.split(".")[-4] for name in learned}
    assert {"lora_A", "lora_B"} == {name.split(".")[-3] for name in learned}
    assert {3} == {min(each.shape) for each in module.parameters() if each.requires_grad}


def spread_adapter(module, std=0.02):
    """Give both matrices of each adapter numbers, as after some steps."""
    torch.manual_seed(3)
    with torch.no_grad():
        for name, each in module.named_parameters():
            if "lora_" in name:
                each.normal_(std=std)


@pytest.mark.parametrize("case", [*CASES, "contrastive-qwen3"])
def test_gradients_are_those_of_the_merged_weights(built, case):
    """Of W + s B A with the gradient G: s G Aᵀ of B, s Bᵀ G of A; the twin is trained whole."""
    module, batch = built(case, lora_rank=4)
    spread_adapter(module)
    found = gradients(module, batch)[1]
    found = {name.replace(".base_layer", ""): each for name, each in found.items()}
    layers = {
        name: each
        for name, each in module.named_modules()
        if isinstance(each, peft.tuners.lora.Linear)
    }
    assert len(layers) * 2 <= len(found)
    plain, batch = built(case)
    twins = dict(plain.named_parameters())
    with torch.no_grad():
        for name, layer in layers.items():
            twins[f"{name}.weight"] += layer.get_delta_weight("default")
    whole = gradients(plain, batch)[1]
    largest = max(float(whole[f"{name}.weight"].abs().max()) for name in layers)
    near = {"atol": 1e-4 * largest, "rtol": 1e-3}
    for name, layer in layers.items():
        expected = whole[f"{name}.weight"]
        a, b = layer.lora_A["default"].weight, layer.lora_B["default"].weight
        torch.testing.assert_close(
            found[f"{name}.lora_B.default.weight"], 2 * expected @ a.T, **near
        )
        torch.testing.assert_close(
            found[f"{name}.lora_A.default.weight"], 2 * b.T @ expected, **near
        )
    assert largest > 1e-6


@pytest.mark.parametrize("case", first_of("contrastive", "santa", "santa-bert", "seal"))
def test_chunks_and_recomputed_layers_have_the_same_gradients(built, case):
    chunks = {"chunk_size": 4}
    # in chunks, dropout meets other numbers
    for dropout, *ways in ((False, {}, chunks), (True, chunks, {"checkpointing": True, **chunks})):
        found = []
        for options in ways:
            module, batch = built(case, lora_rank=4, **options)
            spread_adapter(module)
            found.append(gradients(module.train(dropout), batch)[1])
        torch.testing.assert_close(*found, atol=1e-4, rtol=1e-3)


def test_a_stopped_run_goes_on_from_the_same_start(tmp_path, records, start):
    base = shutil.copytree(start("contrastive"), tmp_path / "base")
    values = {"model": str(base), "lora_rank": 4, "batch_size": 4, "epochs": 2}
    train_on(records, "contrastive", tmp_path / "whole", **values)
    kind = load("method", "contrastive")
    run = {"output": str(tmp_path / "model"), "save_every": 3, "quiet": True}
    with pytest.raises(KeyError, match="stop"):
        stopped = stopping(kind, 4, KeyError("stop"))(**values)
        train_method("contrastive", stopped, [str(records)], RunOptions(**run))
    # the adapter and its moments, but no weight of the model
    checkpoint = (tmp_path / "model.partial" / "step-3").stat().st_size
    assert checkpoint < len(weights(base)) / 2
    edit(base / "config.json", hidden_act="relu")  # another model under the same name
    with pytest.raises(UserError, match="differs in start"):
        train_method("contrastive", kind(**values), [str(records)], RunOptions(**run, resume=True))
    shutil.copy(start("contrastive") / "config.json", base / "config.json")
    train_method("contrastive", kind(**values), [str(records)], RunOptions(**run, resume=True))
    assert weights(tmp_path / "whole") == weights(tmp_path / "model")


def test_the_extra_is_named_where_it_is_missing(monkeypatch, built, start):
    start("contrastive")
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(
        UserError, match="this needs the package peft of the extra lora; pip install peft"
    ):
        built("contrastive", lora_rank=2)


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"lora_rank": 4}, "--lora-rank needs --model"),
        ({"model": "x", "lora_rank": 4, "tag_tokens": True}, "freezes the vectors of tokens"),
        ({"model": "x", "lora_rank": 0}, "--lora-rank 0 is not"),
    ],
)
def test_settings_that_do_not_go_together(values, match):
    with pytest.raises(UserError, match=match):
        load("method", "contrastive")(**values)


def test_only_transformers_have_adapters(tmp_path, records):
    train_on(records, "static", tmp_path / "table")
    values = {"model": str(tmp_path / "table"), "lora_rank": 2}
    with pytest.raises(UserError, match="--lora-rank needs a transformer"):
        train_on(records, "contrastive", tmp_path / "model", **values)
