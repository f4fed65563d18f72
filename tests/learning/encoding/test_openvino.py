"""OpenVINO computes what torch computes, and tells nobody."""

import os
import sys

import pytest
from conftest import completed, environment

from structkit.embeddings.reading import read_matrix
from structkit.errors import UserError
from structkit.learning.encoding import engines
from tests.learning.encoders.test_encoders import bert_like
from tests.learning.encoding.test_onnx import POOLINGS, assert_same, cache, cosines, encoded, t5

__all__ = ["bert_like", "cache", "t5"]
pytestmark = pytest.mark.skipif(
    "ONEDNN_MAX_CPU_ISA" in os.environ,
    reason="OpenVINO takes no notice of a limit on instructions, and does not run",
)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_bert_like_model(bert_like, pooling):
    if "modernbert" not in bert_like:
        assert_same(bert_like, "openvino", pooling=pooling)


def test_t5(t5):
    assert_same(t5, "openvino", pooling="first-decoder-token")


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


def test_auto_takes_what_is_installed_and_starts_first(t5, monkeypatch):
    assert "onnx" == encoded(t5, "auto")[0].engine.name
    monkeypatch.setattr(engines, "find_spec", lambda package: package == "openvino" or None)
    assert "openvino" == encoded(t5, "auto")[0].engine.name


def test_auto_in_bfloat16(t5, monkeypatch):
    assert encoded(t5, "auto", dtype="bf16")[0].engine.name in ("torch", "openvino")
    monkeypatch.setattr(engines, "find_spec", lambda package: None)
    assert "torch" == encoded(t5, "auto", dtype="bf16")[0].engine.name


def test_what_it_does_not_take_is_refused(t5):
    with pytest.raises(UserError, match="--engine onnx takes no --dtype bf16"):
        encoded(t5, "onnx", dtype="bf16")
