"""Model folders from strangers: no pickle is opened, no code of theirs runs, no path leads out."""

import json
import pickle
from pathlib import Path

import pytest

from structkit.errors import UserError
from structkit.learning.encoders.models import load_pretrained
from structkit.learning.metadata import own_metadata

CODE = "from pathlib import Path\nPath('run').touch()\n"
CONFIG = {
    "model_type": "bert",
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "intermediate_size": 8,
    "vocab_size": 9,
}


class Touch:
    """An object whose pickle writes a file when it is opened."""

    def __reduce__(self):
        return Path.touch, (Path("run"),)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield Path("model")
    assert not Path("run").exists()


def written(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, content in {"config.json": CONFIG, **files}.items():
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.ckpt", "weights.pkl"])
def test_a_pickle_is_refused(folder, name):
    written(folder, **{name: pickle.dumps(Touch())})
    told = f"pickle .{name}., which may run code; write them as model"
    with pytest.raises(UserError, match=told):
        load_pretrained(folder)


@pytest.mark.parametrize(
    ("kind", "said"),
    [("bert", None), ("stranger", "code of its own, .*use a model whose architecture")],
)
def test_code_of_a_model_does_not_run(folder, kind, said):
    mapped = {name: f"code.{name}" for name in ("AutoConfig", "AutoModel", "AutoTokenizer")}
    config = {**CONFIG, "model_type": kind, "auto_map": mapped}
    written(folder, **{"config.json": config, "code.py": CODE.encode()})
    written(folder, **{"config.json": config, "tokenizer_config.json": {"auto_map": mapped}})
    with pytest.raises(UserError, match=said):
        load_pretrained(folder)


@pytest.mark.parametrize("path", ["..", "../other", "/", "a/../../other"])
def test_a_module_outside_the_folder_is_refused(folder, path):
    kinds = [{"type": "sentence_transformers.models.Transformer", "path": path}]
    with pytest.raises(UserError, match="names a folder outside the model's"):
        own_metadata(written(folder, **{"modules.json": kinds}))


def test_nested_settings_are_refused(folder):
    for deep in (900, 5_000, 100_000):
        config = json.dumps(CONFIG).encode()[:-1] + b', "a": ' + b"[" * deep + b"]" * deep + b"}"
        with pytest.raises(UserError):
            load_pretrained(written(folder, **{"config.json": config}))
