"""Every method's model folder, spoiled one file and one field at a time: one clear error."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from structkit import registry
from structkit.errors import UserError
from structkit.learning.encoders.encoder import open_model
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run_folder import RunFolder
from tests.benchmarks.reproducible import SMALL, records
from tests.jsonl import write
from tests.learning.training.materials import train_on

# a cross-encoder is no encoder: test_cross_encoder.py spoils its folders
METHODS = [name for name in registry.names("method") if name != "cross-encoder"]
ENCODERS = ["contrastive", "santa", "seal"]
VOCABULARY = {"static": "tokenizer.json"}
AGAIN = "; copy the model folder again"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """An untrained model of each method, made on first use."""
    folder = tmp_path_factory.mktemp("models")
    data = write(folder / "train.jsonl", *records(2))

    def model(name):
        if not (folder / name).exists():
            method = registry.load("method", name)
            small = {**SMALL, "max_steps": 0, "buckets": 10}
            used = {key: small[key] for key in small if key in method.__dataclass_fields__}
            train_on(data, name, folder / name, **used)
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


@pytest.mark.parametrize("name", sorted({*METHODS} - {*ENCODERS}))
@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"subwords": 1', b"\xff"])
def test_vocabulary(copied, name, content):
    folder = copied(name)
    file = folder / VOCABULARY.get(name, "vocabulary.json")
    file.write_bytes(content)
    assert AGAIN in refused(folder, file.name)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"3", b"{}", b"\xff\xfe"])
@pytest.mark.parametrize("name", ["strae", "seal"])
def test_facts_that_are_none(copied, name, content):
    folder = copied(name)
    (folder / "structkit.json").write_bytes(content)
    assert AGAIN in refused(folder)


def test_a_field_that_is_gone(copied):
    folder = copied("strae")
    file = folder / "structkit.json"
    metadata = json.loads(file.read_text())
    for field in metadata.keys() - {"versions", "words"}:
        file.write_text(json.dumps({name: metadata[name] for name in metadata if name != field}))
        assert AGAIN in refused(folder), field
    for name, problem in (("format", "upgrade structkit"), ("method", "no method 'gone'; .*seal")):
        file.write_text(json.dumps({**metadata, name: "gone"}))
        with pytest.raises(UserError, match=problem):
            open_model(str(folder))


@pytest.mark.parametrize("kind", ["folder", "link to nowhere"])
def test_facts_that_are_no_file(copied, kind):
    folder = copied("seal")
    metadata = folder / "structkit.json"
    metadata.unlink()
    metadata.mkdir() if kind == "folder" else metadata.symlink_to("nowhere")
    with pytest.raises(UserError) as caught:
        open_model(str(folder))
    assert (1, str(metadata)) == (caught.value.status, caught.value.file)


OF_LIBRARIES = {
    "dtype": ("config.json", [1, "x"]),
    "decoder_start_token_id": ("config.json", None),
    "model_max_length": ("tokenizer_config.json", ""),
}


@pytest.mark.parametrize("field", OF_LIBRARIES)
def test_a_field_of_its_library_that_is_wrong(copied, field):
    folder = copied("santa")
    name, value = OF_LIBRARIES[field]
    content = json.loads((folder / name).read_bytes())
    (folder / name).write_text(json.dumps({**content, field: value}))
    assert "copy" in refused(folder, "model")


@pytest.mark.parametrize(
    "name, content",
    [
        ("sentence_bert_config.json", {"max_seq_length": "x"}),
        ("sentence_bert_config.json", [1]),
        ("config_sentence_transformers.json", {"prompts": {"query": 1}}),
    ],
)
def test_what_sentence_transformers_would_not_write(copied, name, content):
    folder = copied("seal")
    (folder / "structkit.json").unlink()
    (folder / name).write_text(json.dumps(content))
    assert "copy" in refused(folder, "modules.json")


def test_a_training_from_weights_that_are_no_numbers(copied, tmp_path):
    folder = copied("contrastive")
    file = folder / "model.safetensors"
    save_file(
        {name: w * float("nan") for name, w in load_file(file).items()}, file, {"format": "pt"}
    )
    start = {"model": str(folder), "max_steps": 1}
    data = write(tmp_path / "train.jsonl", *records(2))
    with pytest.raises(UserError, match="the loss is nan at step 1; lower --learning-rate, or"):
        train_on(data, "contrastive", tmp_path / "out", **start)


def test_a_run_folder_whose_name_no_file_system_takes():
    with pytest.raises(UserError, match=r"-o m\udcff is not UTF-8; give it another name"):
        RunOptions(output="m\udcff")
    with pytest.raises(UserError, match="File name too long"):
        RunFolder("x" * 5000, overwrite=False, resume=False)


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("structkit.json", b'{"format": 9, "method": "x"}', "is not a file that structkit wrote"),
        ("config.json", b"{", r"config.json: cannot be read: .*copy the model folder again"),
        ("config.json", None, r"model holds no config.json"),
        ("config.json", b'{"model_type": "bert", "use_cache": []}', r"cannot be loaded"),
        ("tokenizer.json", b"{", r"cannot be loaded"),
        ("tokenizer.json", b'{"model": 7}', r"cannot be loaded"),
    ],
)
def test_damage_is_named(copied, name, damage, message):
    folder = copied("contrastive")
    if damage is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(damage)
    with pytest.raises(UserError, match=message):
        open_model(str(folder))


def test_missing_weights_are_not_made_up(copied):
    folder = copied("contrastive")
    tensors = load_file(folder / "model.safetensors")
    name = next(name for name in tensors if "SelfAttention" in name)
    del tensors[name]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(UserError, match=r"lacks 1 weights \(encoder.block.0"):
        open_model(str(folder))
