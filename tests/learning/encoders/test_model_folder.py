"""Model folders: damage is named, and other libraries read what we write."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoTokenizer

from structkit.errors import UserError
from structkit.learning.encoders.encoder import open_model
from structkit.learning.training.run import train
from structkit.learning.training.settings import RunOptions
from structkit.registry import load
from tests.tolerances import TINY, rounding

TEXTS = ["two words", "a longer text of more words, twoWords and other_words"]


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("folder")
    data = folder / "train.jsonl"
    data.write_text("".join(json.dumps({"query": t, "positive": t}) + "\n" for t in TEXTS))
    settings = load("method", "contrastive")(
        size="tiny", vocabulary_size=400, max_steps=0, pooling="mean"
    )
    train("contrastive", settings, [str(data)], RunOptions(output=str(folder / "model")))
    return folder / "model"


@pytest.fixture
def folder(trained, tmp_path):
    """A copy to damage."""
    return shutil.copytree(trained, tmp_path / "model")


def embeddings(model):
    with torch.inference_mode():
        return model.embed(model.tokens(TEXTS, "document"))


def test_transformers_gives_the_same_embeddings(trained):
    expected = embeddings(open_model(str(trained))[0])
    model = AutoModel.from_pretrained(trained).get_encoder().eval()
    tokens = AutoTokenizer.from_pretrained(trained)(TEXTS, padding=True, return_tensors="pt")
    with torch.inference_mode():
        states = model(tokens.input_ids, attention_mask=tokens.attention_mask).last_hidden_state
    mask = tokens.attention_mask[..., None]
    found = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)
    torch.testing.assert_close(found, expected, **rounding(TINY))


def test_facts(trained):
    facts = json.loads((trained / "structkit.json").read_text())
    assert ("contrastive", 1, 0) == (facts["method"], facts["format"], facts["settings"]["seed"])
    assert {"query": 64, "document": 256} == facts["lengths"]
    assert 2 == facts["data"]["records"]
    assert {"structkit", "torch", "transformers", "python"} == set(facts["versions"])


def test_a_folder_without_facts_is_an_encoder(trained, folder):
    (folder / "structkit.json").unlink()
    model, facts = open_model(str(folder), pooling="mean")
    assert "" == facts["method"]
    expected = embeddings(open_model(str(trained))[0])
    torch.testing.assert_close(embeddings(model), expected, **rounding(TINY))


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("structkit.json", b'{"format": 9, "method": "x"}', r"has format 9.*upgrade structkit"),
        ("structkit.json", b'{"format": 1, "method": "gone"}', "no method 'gone'; .*contrastive"),
        ("config.json", b"{", r"config.json: cannot be read: .*copy the model folder again"),
        ("config.json", None, r"model holds no config.json"),
        ("model.safetensors", None, r"holds no model.safetensors"),
        ("config.json", b'{"model_type": "bert", "use_cache": []}', r"cannot be loaded"),
        ("tokenizer.json", b"{", r"cannot be loaded"),
        ("tokenizer.json", b'{"model": 7}', r"cannot be loaded"),
    ],
)
def test_damage_is_named(folder, name, damage, message):
    if damage is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(damage)
    with pytest.raises(UserError, match=message):
        open_model(str(folder))


def test_missing_weights_are_not_made_up(folder):
    tensors = load_file(folder / "model.safetensors")
    name = next(name for name in tensors if "SelfAttention" in name)
    del tensors[name]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(UserError, match=r"lacks 1 weights \(encoder.block.0"):
        open_model(str(folder))
