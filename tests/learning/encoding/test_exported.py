"""ONNX Runtime and OpenVINO compute what torch computes, from the start and in silence."""

import json
import os
import re
import sys
from shutil import copytree

import numpy as np
import pytest
import torch
from conftest import completed, environment
from imported import imported
from safetensors.torch import load_file, save_file
from transformers import T5Config, T5Model

from structkit.embeddings.reading import read_matrix
from structkit.errors import UserError
from structkit.learning.encoding import engines
from structkit.learning.encoding.engines import choose_runtime, open_engine
from structkit.learning.encoding.exported import NOTES_FILE, Onnx, OpenVino
from structkit.learning.encoding.settings import EncodingSettings
from tests.learning.encoders.small import SHAPE, TEXTS, save, word_tokenizer
from tests.model_encodings import encoding_of
from tests.tolerances import rounding

with_openvino = pytest.mark.skipif(
    "ONEDNN_MAX_CPU_ISA" in os.environ,
    reason="OpenVINO takes no notice of a limit on instructions, and does not run",
)
RECORDS = [{"id": str(number), "text": text} for number, text in enumerate(TEXTS * 3)]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "structkit" / "engines"


@pytest.fixture(scope="module")
def t5(tmp_path_factory):
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=12,
        d_model=SHAPE["hidden_size"],
        d_ff=SHAPE["intermediate_size"],
        d_kv=8,
        num_heads=4,
        num_layers=2,
        num_decoder_layers=2,
        decoder_start_token_id=0,
    )
    return save(tmp_path_factory.mktemp("t5"), T5Model(config), word_tokenizer(cls=True))


def encoded(model, engine, side="document", **options):
    encoding = encoding_of(model, side, engine=engine, **options)
    found = list(encoding.embeddings(map(encoding.read, RECORDS)))
    return encoding, np.array([each.pop("embedding") for each in found]), found


def cosines(found, expected):
    lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    return (found * expected).sum(1) / lengths


def assert_same(model, engine="onnx", **options):
    """Both engines give the same rows, and their embeddings agree; texts are counted alike."""
    by_torch, expected, rows = encoded(model, "torch", **options)
    by_other, found, same = encoded(model, engine, **options)
    assert ("torch", engine) == (by_torch.engine.name, by_other.engine.name)
    assert rows == same
    assert by_torch.truncation.state() == by_other.truncation.state()
    assert cosines(found, expected).min() > Onnx.agreement
    # two layers, or those of a T5's encoder and decoder
    near = rounding(4 * SHAPE["intermediate_size"], abs(expected).max())
    np.testing.assert_allclose(found, expected, **near)
    return found


@pytest.mark.parametrize("engine", ["onnx", "auto"])
def test_a_model_that_gives_no_numbers_is_told_before_any_record(t5, tmp_path, engine):
    folder = copytree(t5, tmp_path / "t5")
    weights = load_file(f"{folder}/model.safetensors")
    save_file(
        {name: weight * float("nan") for name, weight in weights.items()},
        f"{folder}/model.safetensors",
    )
    with pytest.raises(UserError, match="model.safetensors: the model's embeddings hold NaN"):
        encoded(str(folder), engine)


# an engine and a pooling
WAYS = [("onnx", "mean"), ("openvino", "mcls"), ("openvino", "mean"), ("onnx", "mcls")]
WAYS += [(engine, name) for name in ("cls", "last-token") for engine in ("onnx", "openvino")]


def ways(often, *more):
    """Ways to encode; only these are tried often."""
    rare = {way: [pytest.mark.long] * (way not in often) for way in (*WAYS, *more)}
    missing = {"onnx": [], "openvino": [with_openvino]}
    return [pytest.param(*way, marks=[*marks, *missing[way[0]]]) for way, marks in rare.items()]


@pytest.mark.parametrize(("engine", "pooling"), ways(WAYS[:2]))
def test_a_bert_like_model(bert_like, pooling, engine):
    if "modernbert" in bert_like:
        with pytest.raises(UserError, match=f"--engine {engine} cannot compute this model: it is "):
            encoded(bert_like, engine)
        assert "torch" == encoded(bert_like, "auto")[0].engine.name
        return
    assert_same(bert_like, engine, pooling=pooling)
    assert_same(bert_like, engine, pooling=pooling, side="query", normalize=False)


DECODED = [(engine, "first-decoder-token") for engine in ("onnx", "openvino")]


@pytest.mark.parametrize(("engine", "pooling"), ways([*WAYS[1:3], DECODED[0]], *DECODED))
def test_t5(t5, pooling, engine):
    assert_same(t5, engine, pooling=pooling)


def test_chunks(t5):
    assert_same(t5, chunk=5, keep=["text"])


def test_more_than_the_model_reads_is_refused_with_what_it_reads(bert_like):
    for name in ("length", "chunk"):
        with pytest.raises(UserError, match=f"--{name} 99 is .* reads") as caught:
            encoded(bert_like, "torch", **{name: 99})
        assert 2 == caught.value.status
        most = int(re.search(f"use --{name} ([0-9]+)", caught.value.remedy)[1])
        encoded(bert_like, "torch", **{name: most})


def plain(model):
    """What `encode` prints for one text, and which heavy packages it imported."""
    text = b'{"id": "1", "text": "a b c"}\n'
    heavy, output = imported("encode", "-q", "-m", model, "--engine", "onnx", input=text)
    return json.loads(output)["embedding"], heavy


@pytest.mark.long
def test_the_second_time_torch_is_not_imported_and_nothing_but_the_export_is_written(
    t5, cache, monkeypatch
):
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)  # of this process
    first, heavy = plain(t5)
    assert "torch" in heavy
    second, heavy = plain(t5)  # ONNX Runtime's own telemetry would keep an id of the machine there
    assert not heavy & {"torch", "transformers", "nltk"}
    assert first == second  # the first time ONNX Runtime has the model already
    assert ["structkit"] == os.listdir(cache.parent.parent)
    [place] = cache.iterdir()
    names = {"notes.json", "embeddings.bin", "embeddings.onnx", "tokenizer.json"}
    assert names == set(os.listdir(place))


def test_a_damaged_or_older_export_is_made_anew(t5, cache):
    expected = encoded(t5, "onnx")[1]
    [place] = cache.iterdir()
    notes = json.loads((place / NOTES_FILE).read_bytes())
    sample = [[-number for number in row] for row in notes["sample"]]
    contents = {"graph": b"{", "notes": b"{"}
    contents["numbers"] = json.dumps({**notes, "sample": sample}).encode()
    contents["version"] = json.dumps({**notes, "signature": "of version 0.0.0"}).encode()
    for spoiled, content in contents.items():
        (place / ("embeddings.onnx" if spoiled == "graph" else NOTES_FILE)).write_bytes(content)
        encoding, found, _ = encoded(t5, "auto")
        assert "onnx" == encoding.engine.name, spoiled
        np.testing.assert_array_equal(expected, found)
        assert notes == json.loads((place / NOTES_FILE).read_bytes())


def test_another_model_in_the_same_folder_is_exported_again(tmp_path, cache):
    folder = tmp_path / "model"
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        config = T5Config(vocab_size=12, d_model=32, d_kv=8, d_ff=64, num_layers=1)
        save(folder, T5Model(config), word_tokenizer(cls=True))
        found.append(encoded(str(folder), "auto")[1])
    assert 1 == len(list(cache.iterdir()))
    assert abs(found[0] - found[1]).max() > 0.01
    np.testing.assert_allclose(found[1], encoded(str(folder), "torch")[1], **rounding(2 * 64))


@pytest.mark.long
def opened(model, engine, runtime):
    """The engine that opens a model where there is this runtime."""
    settings = EncodingSettings(model=model, engine=engine)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "RUNTIMES", [runtime])
        return open_engine(settings, "cpu")[0].name


class Strict(Onnx):
    agreement = 1.1


class Failing(Onnx):
    def open(self, place):
        raise RuntimeError("no such instruction")


def test_where_the_export_does_not_agree_torch_computes(t5, cache):
    for _ in range(2):
        assert "torch" == opened(t5, "auto", Strict())
    assert 1 == len(list(cache.iterdir()))  # it is tried once
    with pytest.raises(UserError, match="cannot compute this model: its embeddings differ"):
        opened(t5, "onnx", Strict())


def test_without_a_place_for_the_export_torch_computes(t5, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert "torch" == encoded(t5, "auto")[0].engine.name
    assert "the export of the model cannot be kept: Not a directory" in capsys.readouterr().err
    with pytest.raises(UserError, match="--engine onnx cannot compute this model: its export"):
        encoded(t5, "onnx")


def test_where_a_runtime_fails_torch_computes(t5, cache):
    told = r"--engine onnx cannot compute this model: it does not run here \(no such instruction\)"
    for _ in range(2):
        assert "torch" == opened(t5, "auto", Failing())
        with pytest.raises(UserError, match=told):
            opened(t5, "onnx", Failing())
    assert [] == list(cache.iterdir())  # it may run tomorrow


def test_what_onnx_does_not_take_is_refused(t5):
    with pytest.raises(UserError, match="--engine onnx takes no --dtype bf16") as raised:
        encoded(t5, "onnx", dtype="bf16")
    assert 2 == raised.value.status
    with pytest.raises(UserError, match="unknown --engine 'onx'; did you mean 'onnx'"):
        encoded(t5, "onx")


@with_openvino
@pytest.mark.long
def test_fewer_bits(t5):
    expected = encoded(t5, "torch")[1]
    encoding, found, _ = encoded(t5, "openvino", dtype="bf16")
    assert ("openvino", "bf16") == (encoding.meta()["engine"], encoding.run()["dtype"])
    assert cosines(found, expected).min() > 0.999


TELLING = "import os; open(os.environ['TOLD'], 'a').write('told')\n"
SCRIPT = """
import sys
def watch(event, arguments):
    if event.startswith('socket.') and event != 'socket.gethostname': print(event, arguments)
sys.addaudithook(watch)
sys.argv[0] = 'structkit'
from structkit.cli import main
main()
"""


@with_openvino
@pytest.mark.long
def test_nothing_is_told(t5, tmp_path):
    """A package in the place of OpenVINO's telemetry notices when it is imported."""
    (tmp_path / "openvino_telemetry").mkdir()
    (tmp_path / "openvino_telemetry" / "__init__.py").write_text(TELLING)
    told, home = tmp_path / "told", tmp_path / "home"
    home.mkdir()
    variables = environment(PYTHONPATH=str(tmp_path), TOLD=str(told), HOME=str(home))

    def run(*command, **options):
        command = [sys.executable, *command]
        return completed(command, env=variables, check=True, **options).stdout

    for _ in ("exported", "kept"):
        command = ["encode", "-q", "-m", t5, "--engine", "openvino", "-o", str(tmp_path / "e.npy")]
        text = b'{"id": "1", "text": "a b c"}\n'
        assert b"" == run("-c", SCRIPT, *command, input=text)
    assert 1 == len(read_matrix(str(tmp_path / "e.npy")).ids)
    assert not told.exists() and not list(home.iterdir())
    run("-c", "import openvino")
    assert told.exists()


@with_openvino
def test_auto_takes_the_best_that_is_installed_and_has_the_precision(t5, tmp_path, monkeypatch):
    assert "onnx" == encoded(t5, "auto")[0].engine.name
    assert "openvino" == opened(t5, "auto", OpenVino())
    assert encoded(t5, "auto", dtype="bf16")[0].engine.name in ("torch", "openvino")
    cpu = tmp_path / "cpuinfo"
    monkeypatch.setattr(engines, "CPU_INFO", cpu)
    for flags, side, name in (
        ("avx2", "document", "onnx"),
        ("amx_bf16", "query", "onnx"),
        ("amx_bf16", "document", "openvino"),
    ):
        cpu.write_text(f"flags : fpu {flags}\n")
        assert name == choose_runtime(EncodingSettings(model=t5, as_=side), "cpu").name
    absent = OpenVino()
    absent.package = "no_such_package"
    assert "torch" == opened(t5, "auto", absent)
