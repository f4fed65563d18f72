"""Two machines train as one: two launchers that meet on the loopback."""

import json
import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import PROGRAM, environment
from safetensors.torch import load_file
from torch.distributed import HashStore
from torch.testing import assert_close

from structkit.commands import train as command
from structkit.commands.train import agree, train
from structkit.errors import UserError
from structkit.learning.training import launching
from structkit.learning.training.checkpoints import RunFolder
from structkit.learning.training.launching import launch
from structkit.learning.training.nodes import Nodes
from structkit.learning.training.settings import RunOptions
from structkit.learning.training.spool import Spool
from structkit.records.jsonl import Records
from structkit.registry import load
from tests.learning.training.bert import small_bert
from tests.learning.training.ranks import returns

FLAG = "--rendezvous-timeout"
RATE = 1e-5
SETTINGS = {"batch_size": 8, "epochs": 8, "learning_rate": RATE, "temperature": 1.0}
FLAGS = "--batch-size 8 --epochs 8 --learning-rate 1e-5 --temperature 1".split()
ENV = {"OMP_NUM_THREADS": "1"}


@pytest.fixture
def data(tmp_path):
    file = tmp_path / "train.jsonl"
    records = (
        {"id": str(n), "query": f"sum of {n} and {n * 7}", "positive": f"return {n} + {n * 7}"}
        for n in range(40)
    )
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def node(number, port, output, records=subprocess.DEVNULL):
    bert = ["--model", str(output.with_name("bert")), "--device", "cpu"]
    flags = [*FLAGS, *bert, "--save-every", "2", "-o", str(output), "--nnodes", "2"]
    meeting = ["--node-rank", str(number), "--rendezvous", f"127.0.0.1:{port}"]
    log = ["--log-format", "json", "--log-every", "1"]
    return subprocess.Popen(
        [*PROGRAM, "train", "contrastive", *flags, *meeting, *log],
        stdin=records,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**ENV),
    )


def worker(process):
    """The process that trains for a launcher."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = path.read_text().rpartition(")")[2].split()
            started = b"spawn_main" in (path.parent / "cmdline").read_bytes()
            if int(fields[1]) == process.pid and started:
                return int(path.parent.name)
    raise AssertionError


@pytest.mark.long
def test_two_machines_one_of_them_lost_and_resumed_on_one(data, tmp_path):
    output, port = tmp_path / "model", free_port()
    small_bert(tmp_path / "bert")
    with data.open() as records:
        nodes = [node(1, port, output), node(0, port, output, records)]
    other, first = nodes
    losses = {}
    for line in first.stderr:
        if not line.startswith(b"{"):
            continue
        record = json.loads(line)
        losses[record["step"]] = record["loss"]
        if record["step"] == 7:
            break
    processes = [worker(each) for each in nodes]
    os.kill(processes[0], signal.SIGKILL)
    since = time.monotonic()
    (_, lost), (printed, said) = (each.communicate(timeout=120) for each in nodes)
    assert time.monotonic() - since < 30
    assert [1, 1] == [other.returncode, first.returncode]
    assert b"structkit: process 1 of the training ended with status -9; continue from" in lost
    assert b"structkit: a process on another machine ended, and with it the training; see" in said
    assert b"" == printed
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
    assert not output.exists()
    # from there on by one process: as if it had trained from the start
    method = load("method", "contrastive")(model=str(tmp_path / "bert"), **SETTINGS)
    whole = train("contrastive", method, [str(data)], RunOptions(output=str(tmp_path / "whole")))
    options = RunOptions(output=str(output), resume=True)
    found = train("contrastive", method, [str(data)], options)
    assert found["losses"]["loss"] == pytest.approx(whole["losses"]["loss"], abs=1e-5)
    assert losses[1] == pytest.approx(whole["losses"]["loss"]["first"], abs=1e-6)
    expected = load_file(tmp_path / "whole" / "model.safetensors")
    for name, weight in load_file(output / "model.safetensors").items():
        # a gradient of nothing but rounding may turn its sign: then Adam moves as far as its rate
        assert_close(weight, expected[name], atol=RATE, rtol=0)


def test_only_the_records_and_settings_of_the_first_machine(data, tmp_path, monkeypatch):
    folder = RunFolder(str(tmp_path / "model"), overwrite=False, resume=False)
    with pytest.raises(UserError, match="there is no run of machine 0 in .*partial; name a folder"):
        folder.shared({"method": "seal"})
    spool = Spool(Records.read([str(data)]), dict)
    folder.open({"method": "seal", "epochs": 3, "data": spool.hash})
    folder.share(spool)
    with pytest.raises(UserError, match=r"machine 0 differs in epochs \(was 3, is 4\); start"):
        folder.shared({"method": "seal", "epochs": 4})
    shared, held_out = folder.shared({"method": "seal", "epochs": 3})
    again = command.read_again(shared)
    assert held_out is None
    assert (spool.hash, spool[7]) == (again.hash, again[7])
    shared.write_bytes(data.read_bytes()[:100].rpartition(b"\n")[0])
    short = command.read_again(shared)
    facts = [{"data": each.hash, "held_out": None, "save_every": 0} for each in (spool, short)]
    monkeypatch.setattr(command, "gathered", lambda own: facts)
    problem = rf"process 1 differs from the first in data \(was {spool.hash}, is {short.hash}\)"
    with pytest.raises(UserError, match=problem):
        agree((short, None), RunOptions())


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((1, 1, None), "--node-rank and --rendezvous are for several machines; add --nnodes"),
        ((1, 0, "host:1"), "--node-rank and --rendezvous are for several machines"),
        ((2, 2, "host:1"), "--node-rank 2 is not in 0 … 1; count machines from 0"),
        ((2, 0, None), "--nnodes 2 needs the address of machine 0; give all machines"),
        ((2, 0, "host"), "--nnodes 2 needs the address"),
        ((2, 0, "host:70000"), "--nnodes 2 needs the address"),
    ],
)
def test_wrong_meetings(flags, message):
    with pytest.raises(UserError, match=message) as caught:
        Nodes.of(*flags)
    assert 2 == caught.value.status


def test_the_address_of_a_machine_is_that_which_reaches_the_first():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert "127.0.0.1" == Nodes.of(2, 1, f"localhost:{port}").address()


SOME = rf"not all processes of the training came in 1 s, or one was lost; see .* raise {FLAG}"


def test_machine_0_is_not_waited_for_longer_than_the_flag_says():
    options = RunOptions(
        nnodes=2, node_rank=1, rendezvous=f"127.0.0.1:{free_port()}", rendezvous_timeout=1
    )
    assert 1 == RunOptions(rendezvous_timeout=1).nodes.patience
    with pytest.raises(UserError, match="machine 0 does not answer at 127.0.0.1:.*; start it with"):
        options.nodes.address()


def test_another_machine_is_not_waited_for_longer_than_the_flag_says():
    nodes = Nodes.of(2, 0, f"127.0.0.1:{free_port()}", 1)
    with pytest.raises(UserError, match=SOME):
        launch(returns, 1, "cpu", nodes=nodes)


@pytest.mark.parametrize("number", [0, 1])
def test_a_process_that_never_comes_is_not_waited_for_longer(monkeypatch, number):
    """It came to the meeting of machines, and was lost before it began."""
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    for name, value in {**place, "RANK": str(number), "WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(launching, "GRACE", 0.0)
    with pytest.raises(UserError, match=SOME):
        launching._met(number, 2, Nodes(patience=1))


def test_a_process_that_came_and_did_not_begin_is_not_waited_for_longer(monkeypatch):
    store = HashStore()
    monkeypatch.setattr(launching, "rendezvous", lambda *_, **__: iter([(store, 0, 2)]))
    monkeypatch.setattr(launching, "GRACE", 0.0)
    with pytest.raises(UserError, match=SOME):
        launching._met(0, 2, Nodes(patience=1))
