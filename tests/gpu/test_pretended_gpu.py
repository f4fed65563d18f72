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
from transformers import BertModel

from tests.gpu.pretend import TORCH, built
from tests.jsonl import write
from tests.learning.training.materials import WORDS, small_bert

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="loads a library first, as Linux does"),
    pytest.mark.skipif(not shutil.which("g++"), reason="needs g++"),
    pytest.mark.skipif(torch.cuda.is_available(), reason="run with CUDA_VISIBLE_DEVICES="),
    pytest.mark.skipif(
        not torch.__version__.startswith(f"{TORCH}."), reason=f"reaches into torch {TORCH}"
    ),
]

ENCODER = {"size": "tiny", "vocabulary_size": 500, "batch_size": 4}
BERT = {**ENCODER, "architecture": "bert"}
WORD_MODEL = {"batch_size": 8, "minimum_count": 1, "embedding_size": 20}
# method, settings, and how often a step may wait for the GPU
CASES = {
    "contrastive": ("contrastive", BERT, 1),
    "contrastive in bf16 and chunks": ("contrastive", {**BERT, "bf16": True, "chunk_size": 3}, 1),
    "santa": ("santa", ENCODER, 8),
    "santa in bf16 and chunks": ("santa", {**ENCODER, "bf16": True, "chunk_size": 3}, 16),
    "santa without entities": (
        "santa",
        {**BERT, "pooling": "cls", "entity_weight": 0.0, "document_length": 24},
        2,
    ),
    "santa in place": ("santa", {**BERT, "pooling": "cls", "chunk_size": 3}, 16),
    "held-out records": ("contrastive", {**BERT, "validate": "records.jsonl"}, 8),
    "a start in bfloat16": ("contrastive", {"model": "half", "batch_size": 4}, 1),
    "cross-encoder": ("cross-encoder", {**ENCODER, "chunk_size": 4}, 4),
    "seal": ("seal", ENCODER, 2),
    "seal with mcls": ("seal", {**BERT, "pooling": "mcls", "mcls_every": 4}, 2),
    "strae": ("strae", WORD_MODEL, 1),
    "self-strae": ("self-strae", WORD_MODEL, 2),
    "self-strae-plus": ("self-strae-plus", {**WORD_MODEL, "embedding_size": 32}, 4),
    "banyan": ("banyan", {**WORD_MODEL, "embedding_size": 128}, 9),
    "iornn": ("iornn", WORD_MODEL, 1),
    "tree-lstm": ("tree-lstm", WORD_MODEL, 1),
    "roberta": ("roberta", WORD_MODEL, 4),
}


def record(number):
    words = [WORDS[number % 10], WORDS[number * 3 % 10], WORDS[number // 2]]
    text = " ".join([*words, "shirt"] * (1 + number % 3))
    other = " ".join(WORDS[number % 5 : number % 5 + 3])
    tree, *rest = text.split()
    for word in rest:
        tree = f"(X {tree} {word})"
    return {
        "id": str(number),
        "text": text,
        "tree": tree,
        "query": words[0],
        "positive": text,
        "tagged": f"<p>{text}</p>",
        "untagged": text,
        "masked": f"{text} <extra_id_0>",
        "target": f"<extra_id_0> {words[0]} <extra_id_1>",
        "negatives": [other],
        "negatives_tagged": [f"<p>{other}</p>"],
        "negatives_untagged": [other],
        "negatives_masked": [other],
    }


FILES = {"model", "validate"}  # settings that name something in the folder of the tests


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What each case gave on both devices, from one process that pretends."""
    folder = tmp_path_factory.mktemp("gpu")
    file = write(folder / "records.jsonl", *map(record, range(16)))
    small_bert(folder / "half")
    BertModel.from_pretrained(folder / "half").to(torch.bfloat16).save_pretrained(folder / "half")
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
