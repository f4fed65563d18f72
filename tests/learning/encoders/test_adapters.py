"""Adapters, compared with peft, transformers, sentence-transformers and a model trained whole."""

import json
import shutil
import sys

import numpy as np
import peft
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import CrossEncoder, SentenceTransformer

from structkit.errors import UserError
from structkit.learning.encoders.cross_encoder import load_cross_encoder
from structkit.learning.encoders.encoder import open_model
from structkit.learning.training.devices import load_trained, trained_state
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train
from structkit.learning.training.trainer import adamw
from structkit.registry import load
from tests.jsonl import write
from tests.learning.encoders.zoo import edit, sentence_folder
from tests.learning.training.materials import begun, stopping, train_on, weights, write_pairs

NEAR = {"atol": 1e-5, "rtol": 0}
TEXTS = ["red green blue", "a b C", "", "white house tree car " * 9]
# a method, and the model that it starts from
CASES = {
    "contrastive": {"architecture": "bert", "pooling": "mean"},
    "santa": {},
    "santa-bert": {"architecture": "bert", "pooling": "cls"},
    "seal": {},
    "cross-encoder": {},
}


def method_of(case):
    return case.removesuffix("-bert").removesuffix("-qwen3").removesuffix("-dense")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("adapters")


@pytest.fixture(scope="module")
def records(place):
    return write_pairs(place / "records.jsonl")


@pytest.fixture(scope="module")
def letters(place, records):
    """The same records for a tokenizer of letters."""
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    for line in lines:
        line["query"] = " ".join(line["query"])
        line["positive"] = " ".join(line["positive"])
    write(place / "letters.jsonl", *lines)
    return place / "letters.jsonl"


@pytest.fixture(scope="module")
def start(place, records):
    """The folder of an untrained model for a case."""

    def start(case):
        folder = place / f"{case}-start"
        if folder.exists():
            return folder
        if case == "contrastive-qwen3":
            return sentence_folder(folder, "Qwen3", pooling="lasttoken")
        scratch = {"size": "tiny", "vocabulary_size": 450, "max_steps": 0}
        train_on(records, method_of(case), folder, **scratch, **CASES[case])
        return folder

    return start


@pytest.fixture(scope="module")
def trained(place, records, letters, start):
    """The folder of a model that was trained by an adapter."""

    def trained(case):
        folder = place / f"{case}-trained"
        if not folder.exists():
            values = {"model": str(start(case)), "lora_rank": 4, "batch_size": 5}
            values |= {"learning_rate": 1e-2, "max_steps": 3}
            file = letters if case.endswith("qwen3") else records
            train_on(file, method_of(case), folder, **values)
        return folder

    return trained


@pytest.fixture
def built(records, letters, start):
    """A training as it begins, and a batch of it."""

    def built(case, count=11, **values):
        values = {"model": str(start(case)), "batch_size": count, "epochs": 1} | values
        file = letters if case.endswith("qwen3") else records
        module, spool, plan = begun(method_of(case), file, **values)
        return module, module.batch([spool[place] for place in range(count)], plan.step(0))

    return built


def embeddings(folder):
    model, _ = open_model(str(folder))
    with torch.no_grad():
        return model.embed(model.tokens(TEXTS, "document")).numpy()


def scores(folder):
    encoder = load_cross_encoder(folder)
    return encoder.scores(encoder.inputs([("red", text) for text in TEXTS]))


def outputs(case, folder):
    return scores(folder) if case == "cross-encoder" else embeddings(folder)


ALL = [*CASES, "contrastive-qwen3"]


@pytest.mark.parametrize("case", ["contrastive", "seal", "contrastive-qwen3", "cross-encoder"])
def test_the_merged_model_is_the_base_with_its_adapter(tmp_path, case, built, start):
    module, _ = built(case, lora_rank=4)
    spread_adapter(module, 0.3)
    encoder = module.eval().encoder
    if case == "cross-encoder":
        expected = encoder.scores(encoder.inputs([("red", text) for text in TEXTS]))
    else:
        expected = encoder.embed(encoder.tokens(TEXTS, "document")).detach().numpy()
    module.save(tmp_path)
    assert np.abs(outputs(case, start(case)) - expected).max() > 1e-3
    np.testing.assert_allclose(outputs(case, tmp_path), expected, **NEAR)
    assert not [name for name in load_file(tmp_path / "model.safetensors") if "lora" in name]


@pytest.mark.parametrize("case", ["contrastive", "seal", "contrastive-qwen3", "cross-encoder"])
def test_sentence_transformers_loads_the_merged_model(case, trained):
    if case == "cross-encoder":
        theirs = CrossEncoder(str(trained(case)), device="cpu")
        expected = theirs.predict([("red", text) for text in TEXTS])
    else:
        expected = SentenceTransformer(str(trained(case)), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(outputs(case, trained(case)), expected, **NEAR)


@pytest.mark.parametrize(
    ("case", "chosen", "names"),
    [
        ("santa", "q,v", {"q", "v"}),
        ("santa", "k, o,wi", {"k", "o", "wi"}),
        ("contrastive", "query", {"query"}),
        ("contrastive", None, {"query", "key", "value", "dense"}),
        ("contrastive-qwen3", "q_proj,down_proj", {"q_proj", "down_proj"}),
    ],
)
def test_only_the_chosen_maps_have_an_adapter(built, case, chosen, names):
    module, _ = built(case, lora_rank=3, lora_modules=chosen)
    learned = {name for name, each in module.named_parameters() if each.requires_grad}
    assert names == {name.split(".")[-4] for name in learned}
    assert {"lora_A", "lora_B"} == {name.split(".")[-3] for name in learned}
    assert {3} == {min(each.shape) for each in module.parameters() if each.requires_grad}


def gradients(module, batch):
    module.zero_grad()
    torch.manual_seed(7)
    module.backward(batch)
    found = {name: each.grad for name, each in module.named_parameters() if each.grad is not None}
    return {name.replace(".base_layer", ""): each.clone() for name, each in found.items()}


def spread_adapter(module, std=0.02):
    """Give both matrices of each adapter numbers, as after some steps."""
    torch.manual_seed(3)
    with torch.no_grad():
        for name, each in module.named_parameters():
            if "lora_" in name:
                each.normal_(std=std)


@pytest.mark.parametrize("case", ALL)
def test_gradients_are_those_of_the_merged_weights(built, case):
    """Of W + s B A with the gradient G: s G Aᵀ of B, s Bᵀ G of A; the twin is trained whole."""
    module, batch = built(case, lora_rank=4, lora_alpha=12.0)
    module.eval()
    spread_adapter(module)
    found = gradients(module, batch)
    layers = {
        name: each
        for name, each in module.named_modules()
        if isinstance(each, peft.tuners.lora.Linear)
    }
    assert len(layers) * 2 <= len(found)
    plain, batch = built(case)
    plain.eval()
    twins = dict(plain.named_parameters())
    with torch.no_grad():
        for name, layer in layers.items():
            twins[f"{name}.weight"] += layer.get_delta_weight("default")
    whole = gradients(plain, batch)
    largest = max(float(whole[f"{name}.weight"].abs().max()) for name in layers)
    near = {"atol": 1e-4 * largest, "rtol": 1e-3}
    for name, layer in layers.items():
        expected = whole[f"{name}.weight"]
        a, b = layer.lora_A["default"].weight, layer.lora_B["default"].weight
        torch.testing.assert_close(
            found[f"{name}.lora_B.default.weight"], 3 * expected @ a.T, **near
        )
        torch.testing.assert_close(
            found[f"{name}.lora_A.default.weight"], 3 * b.T @ expected, **near
        )
    assert largest > 1e-6


def test_a_rank_as_large_as_the_width_trains_as_the_whole_maps(built):
    """With A = 1 and alpha = rank, B moves as the map itself does, step by step, also by AdamW."""
    width = 64
    chosen = {"lora_modules": "query,key,value", "lora_rank": width, "lora_alpha": float(width)}
    module, batch = built("contrastive", **chosen)
    plain, _ = built("contrastive")
    for name, weight in module.named_parameters():
        if "lora_A" in name:
            assert (width, width) == weight.shape
            weight.data = torch.eye(width)
            weight.requires_grad = False
    for name, weight in plain.named_parameters():
        weight.requires_grad = name.split(".")[-2:] in [[each, "weight"] for each in QKV]
    losses = []
    for each in (module, plain):
        each.eval()  # without dropout
        optimizer = adamw(each, 1e-3)
        losses.append([])
        for _ in range(8):
            optimizer.zero_grad()
            losses[-1].append(each.backward(batch)()["loss"])
            optimizer.step()
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
    assert losses[0][-1] < 0.95 * losses[0][0]


QKV = ("query", "key", "value")


@pytest.mark.parametrize("case", ["contrastive", "santa", "santa-bert", "seal"])
def test_chunks_and_recomputed_layers_have_the_same_gradients(built, case):
    found = []
    for options in ({}, {"chunk_size": 4}, {"checkpointing": True, "chunk_size": 4}):
        module, batch = built(case, lora_rank=4, **options)
        spread_adapter(module)
        module.eval()
        if "checkpointing" in options:
            module.train()
            for each in module.modules():
                if isinstance(each, torch.nn.Dropout):
                    each.p = 0.0
                elif isinstance(getattr(each, "dropout", None), float):
                    each.dropout = 0.0
        found.append(gradients(module, batch))
    for others in found[1:]:
        assert found[0].keys() == others.keys()
        for name, expected in found[0].items():
            torch.testing.assert_close(others[name], expected, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("case", [*CASES])
def test_a_checkpoint_has_what_is_trained(built, case):
    module, _ = built(case, lora_rank=2)
    names = {name for name, each in module.named_parameters() if each.requires_grad}
    kept = trained_state(module)
    assert names <= kept.keys()
    assert not {name for name, _ in module.named_parameters()} - names & kept.keys()
    whole = sum(each.numel() for each in module.state_dict().values())
    if case != "santa-bert":  # its head for tokens is trained, too
        assert sum(each.numel() for each in kept.values()) < whole / 5
    before = {name: each.clone() for name, each in module.state_dict().items()}
    spread_adapter(module)
    load_trained(module, {name: before[name] for name in kept})
    torch.testing.assert_close(module.state_dict(), before, rtol=0, atol=0)


def test_a_stopped_run_goes_on_from_the_same_start(tmp_path, records, start):
    base = shutil.copytree(start("contrastive"), tmp_path / "base")
    values = {"model": str(base), "lora_rank": 4, "batch_size": 4, "epochs": 2}
    train_on(records, "contrastive", tmp_path / "whole", **values)
    kind = load("method", "contrastive")
    run = {"output": str(tmp_path / "model"), "save_every": 3, "quiet": True}
    with pytest.raises(KeyError, match="stop"):
        stopped = stopping(kind, 4, KeyError("stop"))(**values)
        train("contrastive", stopped, [str(records)], RunOptions(**run))
    edit(base / "config.json", hidden_act="relu")  # another model under the same name
    with pytest.raises(UserError, match="differs in start"):
        train("contrastive", kind(**values), [str(records)], RunOptions(**run, resume=True))
    shutil.copy(start("contrastive") / "config.json", base / "config.json")
    train("contrastive", kind(**values), [str(records)], RunOptions(**run, resume=True))
    assert weights(tmp_path / "whole") == weights(tmp_path / "model")


@pytest.mark.parametrize("modules", ["word_embeddings", "query,quary", "LayerNorm", "pooler", ","])
def test_a_name_of_no_linear_map_says_which_there_are(built, modules):
    with pytest.raises(UserError, match="choose some for --lora-modules: query,key,value,dense"):
        built("contrastive", lora_rank=2, lora_modules=modules)


def test_the_extra_is_named_where_it_is_missing(monkeypatch, built, start):
    start("contrastive")
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(UserError, match="this needs the package peft; pip install peft"):
        built("contrastive", lora_rank=2)
