"""Every method's model folder, spoiled one file and one field at a time: one clear error."""

import json
import re
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from structkit import encode, registry
from structkit.errors import UserError
from structkit.learning.encoders.encoder import open_model
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run_folder import RunFolder
from tests.learning.training.materials import smallest, train_on, write_pairs

METHODS = registry.names("method")
ENCODERS = ["colbert", "contrastive", "santa", "seal"]
VOCABULARY = {"static": "tokenizer.json"}
AGAIN = "; copy the model folder again"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """An untrained model of each method, made on first use."""
    folder = tmp_path_factory.mktemp("models")
    data = write_pairs(folder / "train.jsonl", 2)

    def model(name):
        if not (folder / name).exists():
            train_on(data, name, folder / name, **smallest(name, max_steps=0))
        return folder / name

    return model


@pytest.fixture
def copied(models, tmp_path):
    return lambda name: shutil.copytree(models(name), tmp_path / "model")


def refused(folder, file="structkit.json"):
    """What is said of a damaged folder: one line that names the file and the remedy."""
    with pytest.raises(UserError) as caught:
        open_model(str(folder))
    message = str(caught.value)
    assert 1 == caught.value.status
    assert message.startswith(str(folder / file)) or file in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("damage", ["empty", "cut", "garbage", "gone", "of another model"])
def test_weights(copied, name, damage):
    folder = copied(name)
    file = folder / "model.safetensors"
    whole = file.read_bytes()
    if damage == "gone":
        file.unlink()
    elif damage == "of another model":
        save_file({"other": torch.zeros(2)}, file, {"format": "pt"})
    else:
        content = {"empty": b"", "cut": whole[: len(whole) // 2], "garbage": b"\xff" * 1000}
        file.write_bytes(content[damage])
    message = refused(folder, "model" if name in ENCODERS else "model.safetensors")
    assert "copy" in message


@pytest.mark.parametrize("name", sorted({*METHODS} - {*ENCODERS}))
def test_weights_of_another_shape_or_not_finite(copied, name):
    file = copied(name) / "model.safetensors"
    weights = load_file(file)
    last = sorted(weights)[-1]
    whole = weights[last].clone()
    weights[last] = torch.cat([whole.flatten(), torch.zeros(1)])
    save_file(weights, file)
    assert AGAIN in refused(file.parent, file.name)
    if name != "fasttext":  # its table is large, and each embedding is looked at anyway
        whole.flatten()[-1] = float("inf")
        save_file({**weights, last: whole}, file)
        assert "finite" in refused(file.parent, file.name)


FACTS, BERT = "structkit.json", "sentence_bert_config.json"
# a method, a file of its model, what becomes of it (bytes, None, or changed fields), what is said
DAMAGE = [
    *(
        (name, FACTS, content, AGAIN)
        for name in ("strae", "seal")
        for content in (b"", b"{", b"[]", b"null", b"3", b"{}", b"\xff\xfe")
    ),
    *(
        (name, VOCABULARY.get(name, "vocabulary.json"), content, AGAIN)
        for name in sorted({*METHODS} - {*ENCODERS})
        for content in (b"", b"{}", b"[]", b'{"subwords": 1', b"\xff")
    ),
    ("seal", FACTS, "a folder", "structkit.json: "),
    ("seal", FACTS, "a link to nowhere", "structkit.json: "),
    ("contrastive", FACTS, b'{"format": 9, "method": "x"}', "is not a file that structkit wrote"),
    ("contrastive", "config.json", b"{", "config.json: cannot be read: .*copy the model folder"),
    ("contrastive", "config.json", None, "model holds no config.json"),
    ("contrastive", "config.json", {"model_type": "bert", "use_cache": []}, "cannot be loaded"),
    ("contrastive", "tokenizer.json", b"{", "cannot be loaded"),
    ("contrastive", "tokenizer.json", b'{"model": 7}', "cannot be loaded"),
    ("contrastive", "model.safetensors", "a weight gone", r"lacks 1 weights \(encoder.block.0"),
    ("santa", "config.json", {"dtype": [1, "x"]}, "copy"),
    ("santa", "config.json", {"decoder_start_token_id": None}, "copy"),
    ("santa", "tokenizer_config.json", {"model_max_length": ""}, "copy"),
    # of sentence-transformers, without ours
    ("seal", BERT, {"max_seq_length": "x"}, "copy"),
    ("seal", BERT, b"[1]", "copy"),
    ("seal", "config_sentence_transformers.json", {"prompts": {"query": 1}}, "copy"),
]


@pytest.mark.parametrize(("name", "file", "damage", "said"), DAMAGE)
def test_damage_is_named(copied, name, file, damage, said):
    folder = copied(name)
    path = folder / file
    if "sentence" in file:
        (folder / FACTS).unlink()
    if isinstance(damage, dict):
        known = json.loads(path.read_bytes()) if path.exists() else {}
        path.write_text(json.dumps({**known, **damage}))
    elif damage == "a weight gone":
        weights = load_file(path)
        del weights[next(each for each in weights if "SelfAttention" in each)]
        save_file(weights, path, {"format": "pt"})
    elif isinstance(damage, bytes):
        path.write_bytes(damage)
    else:
        path.unlink()
    if damage == "a folder":
        path.mkdir()
    elif damage == "a link to nowhere":
        path.symlink_to("nowhere")
    assert re.search(said, refused(folder, "model"))


def test_a_field_that_is_gone(copied):
    folder = copied("strae")
    file = folder / "structkit.json"
    metadata = json.loads(file.read_text())
    for field in metadata.keys() - {"versions", "words"}:
        file.write_text(json.dumps({name: metadata[name] for name in metadata if name != field}))
        assert AGAIN in refused(folder), field
    for name, problem in (
        ("format", "upgrade structkit"),
        ("method", "unknown method 'gone'; .*seal"),
    ):
        file.write_text(json.dumps({**metadata, name: "gone"}))
        with pytest.raises(UserError, match=problem):
            open_model(str(folder))


@pytest.mark.parametrize("name", ["contrastive", "static"])
def test_an_encoder_encodes_without_the_plugin_of_its_method(copied, name):
    folder = copied(name)
    file = folder / "structkit.json"
    records = [{"id": "1", "text": "a boat"}]
    expected = list(encode(records, model=str(folder), field=["text"]))
    file.write_text(json.dumps({**json.loads(file.read_text()), "method": "gone"}))
    assert expected == list(encode(records, model=str(folder), field=["text"]))


def test_a_training_from_weights_that_are_no_numbers(copied, tmp_path):
    folder = copied("contrastive")
    file = folder / "model.safetensors"
    save_file(
        {name: w * float("nan") for name, w in load_file(file).items()}, file, {"format": "pt"}
    )
    start = {"model": str(folder), "max_steps": 1}
    data = write_pairs(tmp_path / "train.jsonl", 2)
    with pytest.raises(UserError, match="the loss is nan at step 1; lower --learning-rate, or"):
        train_on(data, "contrastive", tmp_path / "out", **start)


def test_a_run_folder_whose_name_no_file_system_takes():
    with pytest.raises(UserError, match=r"-o m\udcff is not UTF-8; give it another name"):
        RunOptions(output="m\udcff")
    with pytest.raises(UserError, match="File name too long"):
        RunFolder("x" * 5000, overwrite=False, resume=False)
