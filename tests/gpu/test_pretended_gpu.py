"""Training and encoding on a pretended GPU: on one device, with the CPU's results, and few waits.

Bi-LSTM and the span parser are left out: a CPU build of torch has no LSTM of CUDA. No real kernel
runs here.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest
import torch

from tests.gpu.cases import CASES, FILES, record
from tests.gpu.pretend import TORCH, built
from tests.jsonl import write
from tests.learning.training.materials import small_bert

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="loads a library first, as Linux does"),
    pytest.mark.skipif(not shutil.which("g++"), reason="needs g++"),
    pytest.mark.skipif(torch.cuda.is_available(), reason="run with CUDA_VISIBLE_DEVICES="),
    pytest.mark.skipif(
        not torch.__version__.startswith(f"{TORCH}."), reason=f"reaches into torch {TORCH}"
    ),
]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What each case gave on both devices, from one process that pretends."""
    folder = tmp_path_factory.mktemp("gpu")
    file = write(folder / "records.jsonl", *map(record, range(16)))
    small_bert(folder / "half", torch.bfloat16)
    cases = {name: (method, settings, file) for name, (method, settings, _) in CASES.items()}
    for _, settings, _ in cases.values():
        settings |= {name: str(folder / settings[name]) for name in FILES & settings.keys()}
    process = subprocess.run(
        [sys.executable, "-m", "tests.gpu.same_losses", str(folder)],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **built(folder / "guard.so")},
    )
    assert process.returncode == 0, process.stderr
    return {each["case"]: each for each in map(json.loads, process.stdout.splitlines())}


@pytest.mark.parametrize("name", CASES)
def test_a_gpu_computes_what_the_cpu_does(results, name):
    found, (_, settings, most) = results[name], CASES[name]
    assert "" == found.get("error", "")
    assert {} == found["mixed"]
    near = 1e-3 if settings.get("bf16") else 1e-5
    assert found["expected"] == pytest.approx(found["losses"], rel=near)
    assert ["bfloat16" if "model" in settings else "float32"] == list({*found["moved"]} - {"int64"})
    assert len(found["waits"]) == 2
    for step in found["waits"]:
        assert sum(step.values()) <= most, step
    if "largest" not in found:
        return
    assert {} == found["mixed in encoding"]
    assert found["difference"] <= 1e-5 * found["largest"]
    assert found["coarse"] <= 2e-2 * found["largest"]
    assert sum(found["encoding"]["waits"].values()) <= 10, found["encoding"]["waits"]


def test_a_stopped_training_on_a_gpu_goes_on_as_if_it_had_not_stopped(results):
    assert {"case": "resumed", "logs": True, "weights": True} == results["resumed"]


def test_a_mixed_operation_and_a_wait_are_seen(tmp_path):
    program = tmp_path / "mix.py"
    program.write_text(
        """
import json, torch
from tests.gpu.pretend import pretended_gpu
with pretended_gpu() as counts:
    row = torch.arange(3.0, device="cuda")
    (row + torch.ones(3)).sum().item()
    row[row > 1]
    row * 2 + torch.tensor(1.0)
print(json.dumps([list(counts.mixed.values()), sum(counts.waits.values())]))
"""
    )
    process = subprocess.run(
        [sys.executable, program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.getcwd(), **built(tmp_path / "guard.so")},
    )
    assert [[1], 2] == json.loads(process.stdout or "null"), process.stderr
