"""Two machines train as one: torchrun starts both, which meet on the loopback."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest
import torch
from conftest import environment, python
from safetensors.torch import load_file

from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train_method
from structkit.registry import load
from tests.benchmarks.processes import descendants
from tests.learning.training.materials import same, small_bert, write_pairs

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="run with CUDA_VISIBLE_DEVICES=")
RATE = 1e-5
SETTINGS = {"batch_size": 8, "epochs": 3, "learning_rate": RATE, "temperature": 1.0}
FLAGS = "--batch-size 8 --epochs 3 --learning-rate 1e-5 --temperature 1".split()
TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]


@pytest.fixture
def data(tmp_path):
    return write_pairs(tmp_path / "train.jsonl", 40, lambda number: 0)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def node(number, port, output, data, *more):
    meeting = f"--nnodes 2 --node-rank {number} --nproc-per-node 1 --master-addr 127.0.0.1"
    bert = ["--model", str(output.with_name("bert"))]
    flags = [*FLAGS, *bert, "--save-every", "2", "-o", str(output), str(data)]
    log = ["--log-format", "json", "--log-every", "1", *more]
    return subprocess.Popen(
        [*TORCHRUN, *meeting.split(), "--master-port", str(port), "-m", "structkit", "train"]
        + ["contrastive", *flags, *log],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(OMP_NUM_THREADS="1"),
    )


@pytest.mark.long
def test_two_machines_one_of_them_lost_and_resumed(data, tmp_path):
    output = tmp_path / "model"
    small_bert(tmp_path / "bert")
    port = free_port()
    first, other = (node(number, port, output, data) for number in (0, 1))
    losses = {}
    for line in first.stderr:
        if not line.startswith(b"{"):
            continue
        record = json.loads(line)
        losses[record["step"]] = record["loss"]
        if record["step"] == 7:
            break
    processes = [[*descendants(each.pid)][1] for each in (first, other)]  # of their launchers
    os.kill(processes[1], signal.SIGKILL)
    (printed, said), (nothing, _) = (each.communicate(timeout=120) for each in (first, other))
    assert [1, 1] == [first.returncode, other.returncode]
    assert b"structkit: another process of the training ended, and with it the training;" in said
    assert (b"", b"") == (printed, nothing)
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
    assert not output.exists()
    port = free_port()
    first, other = (node(number, port, output, data, "--resume") for number in (0, 1))
    nothing, said = other.communicate(timeout=240)
    assert 0 == other.returncode, said  # torch lets the first wait minutes for one that failed
    printed, said = first.communicate(timeout=60)
    assert 0 == first.returncode, said
    assert b"" == nothing
    assert ["bert", "model", "train.jsonl"] == sorted(path.name for path in tmp_path.iterdir())
    # as one process trains from the start
    method, found = (
        load("method", "contrastive")(model=str(tmp_path / "bert"), **SETTINGS),
        json.loads(printed),
    )
    whole = train_method(
        "contrastive", method, [str(data)], RunOptions(output=str(tmp_path / "whole"))
    )
    found = json.loads(printed)
    assert 15 == found["steps"]
    assert found["losses"]["loss"] == pytest.approx(whole["losses"]["loss"], abs=1e-5)
    assert losses[1] == pytest.approx(whole["losses"]["loss"]["first"], abs=1e-6)
    expected = load_file(tmp_path / "whole" / "model.safetensors")
    same(expected, load_file(output / "model.safetensors"), RATE)


# what transformers imports, once there is a group
JOINED = """
import importlib, pathlib
from structkit.learning.training.launching import join
join(lambda: importlib.import_module("torch.distributed.nn.functional"))
print(*(each.read_text().strip() for each in pathlib.Path("/proc/self/task").glob("*/comm")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere threads are not told by name")
def test_a_group_leaves_no_thread_to_the_end_of_its_process():
    """One that gives back a tensor while Python ends is ended by it, and the process aborts."""
    alone = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"}
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    done = python("-c", JOINED, **alone, **meeting)
    assert 0 == done.returncode, done.stderr
    assert "gloo" not in done.stdout
