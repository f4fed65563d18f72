"""Two machines train as one: torchrun starts both, which meet on the loopback."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from functools import partial

import pytest
import torch
from conftest import environment, python
from safetensors.torch import load_file

from structkit.errors import UserError
from structkit.learning.training.launching import launch
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import check_processes, train
from structkit.registry import load
from tests.benchmarks.processes import descendants
from tests.learning.training.materials import same, small_bert, write_sums
from tests.learning.training.ranks import agreed

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="run with CUDA_VISIBLE_DEVICES=")
RATE = 1e-5
SETTINGS = {"batch_size": 8, "epochs": 8, "learning_rate": RATE, "temperature": 1.0}
FLAGS = "--batch-size 8 --epochs 8 --learning-rate 1e-5 --temperature 1".split()
TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]


@pytest.fixture
def data(tmp_path):
    return write_sums(tmp_path / "train.jsonl")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def node(number, port, output, data):
    meeting = f"--nnodes 2 --node-rank {number} --nproc-per-node 1 --master-addr 127.0.0.1"
    bert = ["--model", str(output.with_name("bert"))]
    flags = [*FLAGS, *bert, "--save-every", "2", "-o", str(output), str(data)]
    log = ["--log-format", "json", "--log-every", "1"]
    return subprocess.Popen(
        [*TORCHRUN, *meeting.split(), "--master-port", str(port), "-m", "structkit", "train"]
        + ["contrastive", *flags, *log],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(OMP_NUM_THREADS="1"),
    )


@pytest.mark.long
def test_two_machines_one_of_them_lost_and_resumed_on_one(data, tmp_path):
    output, port = tmp_path / "model", free_port()
    small_bert(tmp_path / "bert")
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
    # from there on by one process: as if it had trained from the start
    method = load("method", "contrastive")(model=str(tmp_path / "bert"), **SETTINGS)
    whole = train("contrastive", method, [str(data)], RunOptions(str(tmp_path / "whole")))
    options = RunOptions(output=str(output), resume=True)
    found = train("contrastive", method, [str(data)], options)
    assert found["losses"]["loss"] == pytest.approx(whole["losses"]["loss"], abs=1e-5)
    assert losses[1] == pytest.approx(whole["losses"]["loss"]["first"], abs=1e-6)
    expected = load_file(tmp_path / "whole" / "model.safetensors")
    same(expected, load_file(output / "model.safetensors"), RATE)


@pytest.mark.long
def test_the_model_of_two_machines_appears_once_and_is_complete(data, tmp_path):
    output, port = tmp_path / "model", free_port()
    small_bert(tmp_path / "bert")
    first, other = (node(number, port, output, data) for number in (0, 1))
    nothing, said = other.communicate(timeout=240)
    assert 0 == other.returncode, said  # torch lets the first wait minutes for one that failed
    printed, said = first.communicate(timeout=60)
    assert 0 == first.returncode, said
    assert (40, b"") == (json.loads(printed)["steps"], nothing)
    assert ["bert", "model", "train.jsonl"] == sorted(path.name for path in tmp_path.iterdir())


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


@pytest.mark.long
def test_processes_agree_or_say_in_what_they_differ(tmp_path):
    for name in ("finished", "older"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "structkit.json").touch()
    complete, errors = launch(partial(agreed, tmp_path), 2)
    # each takes the folder as the first made it
    assert [[True, True], [False, False]] == complete
    assert ["finished", "of 1.partial", "older"] == sorted(path.name for path in tmp_path.iterdir())
    differ = "process 1 differs from the first in"
    for expected, found in zip(
        (
            rf"{differ} epochs \(was 3, is 4\); start the same command",
            rf"{differ} checkpoint \(was None, is step-8\)",
            *["several processes cannot read one stdin; name a file"] * 2,
            "banyan is trained by one process; start it without torchrun",
        ),
        errors,
        strict=True,
    ):
        assert re.match(expected, found)


def test_what_torchrun_cannot_share_is_refused(monkeypatch):
    with pytest.raises(UserError, match="banyan is trained by one process; leave --nproc out"):
        check_processes("banyan", load("method", "banyan")(), ("a.jsonl",), RunOptions(nproc=2))
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    with pytest.raises(UserError, match="torchrun starts the processes, not --nproc; leave it out"):
        train("contrastive", load("method", "contrastive")(), ["a.jsonl"], RunOptions(nproc=2))
