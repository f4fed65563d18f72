"""A stopped run that goes on ends as if it had never stopped, bit for bit."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from conftest import PROGRAM, as_at_a_prompt, environment

from structkit.errors import UserError
from structkit.learning.training.run import train
from structkit.learning.training.settings import RunOptions
from structkit.registry import load
from tests.learning.training.materials import write_sums

Method = load("method", "contrastive")
ENV = {"OMP_NUM_THREADS": "1"}


@pytest.fixture
def data(tmp_path):
    return write_sums(tmp_path / "train.jsonl")


def method(**changes):
    values = {"size": "tiny", "vocabulary_size": 400, "batch_size": 8, "epochs": 4}
    return Method(**(values | changes))


def weights(folder):
    return (folder / "model.safetensors").read_bytes()


def start(data, output, *flags):
    command = (
        "train contrastive --size tiny --vocabulary-size 400 --batch-size 8 --epochs 400 "
        "--log-format json --log-every 1"
    ).split()
    arguments = [*PROGRAM, *command, "-o", str(output), *flags, str(data)]
    return subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**ENV),
        preexec_fn=as_at_a_prompt,
    )


def wait_for_step(process, step):
    for line in process.stderr:
        if line.startswith(b"{") and json.loads(line)["step"] >= step:
            return
    raise AssertionError(process.returncode)


@pytest.mark.long
def test_ctrl_c_saves_a_checkpoint(data, tmp_path):
    process = start(data, tmp_path / "model")
    wait_for_step(process, 3)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert 130 == process.returncode
    assert b"" == output
    assert b"of 2,000; add --resume to continue" in errors
    assert not (tmp_path / "model").exists()
    (name,) = (path.name for path in (tmp_path / "model.partial").iterdir())
    assert name.startswith("step-")


def test_killed_and_resumed_is_uninterrupted(data, tmp_path):
    expected = tmp_path / "whole"
    train("contrastive", method(), [str(data)], RunOptions(output=str(expected)))
    stopped = tmp_path / "stopped"
    script = """
import os, sys
from structkit.learning.training.run import train
from structkit.learning.training.settings import RunOptions
from structkit.learning.training.trainer import RunFolder
from structkit.registry import load
save = RunFolder.save
def save_and_die(self, step, state):
    save(self, step, state)
    os.kill(os.getpid(), 9)
RunFolder.save = save_and_die
method = load("method", "contrastive")(
    size="tiny", vocabulary_size=400, batch_size=8, epochs=4
)
train("contrastive", method, [sys.argv[1]], RunOptions(output=sys.argv[2], save_every=7))
"""
    killed = subprocess.run(
        [sys.executable, "-c", script, str(data), str(stopped)],
        env=dict(os.environ) | ENV,
        check=False,
    )
    assert -9 == killed.returncode
    assert not stopped.exists()
    with pytest.raises(UserError, match=r"stopped at step 7; continue it with --resume, or"):
        train("contrastive", method(), [str(data)], RunOptions(output=str(stopped)))
    options = RunOptions(output=str(stopped), resume=True)
    summary = train("contrastive", method(), [str(data)], options)
    assert 20 == summary["steps"]
    assert weights(expected) == weights(stopped)
    facts = [json.loads((folder / "structkit.json").read_text()) for folder in (expected, stopped)]
    assert facts[0] == facts[1]
    logs = [(folder / "losses.jsonl").read_bytes() for folder in (expected, stopped)]
    assert logs[0] == logs[1] and 2 == logs[0].count(b"\n")
    assert not (tmp_path / "stopped.partial").exists()


@pytest.fixture(scope="session")
def stopped_run(tmp_path_factory):
    """The data and the folder of a run that was stopped after 3 steps."""
    folder = tmp_path_factory.mktemp("stopped")
    data = write_sums(folder / "train.jsonl")
    process = start(data, folder / "model")
    wait_for_step(process, 3)
    process.terminate()
    assert b"add --resume to continue" in process.communicate(timeout=60)[1]
    (folder / "status").write_text(str(process.returncode))
    return folder


@pytest.fixture
def stopped(stopped_run, tmp_path):
    """A copy of it."""
    return shutil.copytree(stopped_run, tmp_path / "copy") / "model"


def test_only_the_same_run_is_resumed(stopped, data):
    options = RunOptions(output=str(stopped), resume=True)
    with pytest.raises(UserError, match=r"differs in learning_rate \(was 5e-05, is 0.1\)"):
        train("contrastive", method(epochs=400, learning_rate=0.1), [str(data)], options)
    data.write_text(data.read_text() + '{"id": "x", "query": "q", "positive": "p"}\n')
    with pytest.raises(UserError, match=r"differs in data .*--overwrite"):
        train("contrastive", method(epochs=400), [str(data)], options)
    checkpoint = next(stopped.with_name("model.partial").glob("step-*"))
    assert checkpoint.stat().st_size > 1000  # a refused run keeps what there is


def test_resume_without_a_stopped_run_starts(data, tmp_path, capsys):
    options = RunOptions(output=str(tmp_path / "new"), resume=True)
    assert 2 == train("contrastive", method(max_steps=2), [str(data)], options)["steps"]
    assert "starts at step 0" in capsys.readouterr().err


@pytest.mark.long
def test_resume_of_a_finished_run_changes_nothing(run, data, tmp_path):
    command = "train contrastive --size tiny --vocabulary-size 400 --max-steps 2 -o new --resume"
    first = json.loads(run(*command.split(), data).stdout)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    again = run(*command.split(), data)
    assert 0 == again.returncode
    assert "structkit: the run in new is complete; --overwrite trains it again\n" == (
        again.stderr.decode()
    )
    summary = json.loads(again.stdout)
    assert summary == {name: first[name] for name in ("folder", "method", "steps", "losses")} | {
        "complete": True
    }
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    other = run(*command.split(), "--seed", "1", data)
    assert 1 == other.returncode
    assert b"the finished run in new differs in seed (was 0, is 1); train it again" in other.stderr


def test_santa_without_decoder_is_complete_too(data, tmp_path):
    lines = [json.loads(line) for line in data.read_text().splitlines()]
    masked = {"masked": "return <extra_id_0>", "target": "<extra_id_0> n <extra_id_1>"}
    data.write_text("".join(json.dumps(line | masked) + "\n" for line in lines))
    settings = load("method", "santa")(
        size="tiny", vocabulary_size=400, max_steps=0, architecture="bert"
    )
    options = RunOptions(output=str(tmp_path / "new"), resume=True)
    train("santa", settings, [str(data)], options)
    assert train("santa", settings, [str(data)], options)["complete"]


def test_sigterm_saves_a_checkpoint_and_is_143(stopped_run):
    assert "143" == (stopped_run / "status").read_text()


@pytest.mark.long
def test_sigterm_before_the_first_step_leaves_nothing(tmp_path):
    arguments = [*PROGRAM, *"train contrastive --quiet -o model".split()]
    process = subprocess.Popen(
        arguments, stdin=subprocess.PIPE, cwd=tmp_path, env=environment(**ENV)
    )
    process.stdin.write(b'{"query": "a", "positive": "b"}\n')
    process.stdin.flush()
    inherited = opened(os.getpid())
    for _ in range(600):  # until the records are being read
        if any("(deleted)" in link for link in opened(process.pid) - inherited):  # it has no name
            break
        time.sleep(0.1)
    else:
        raise AssertionError
    process.terminate()
    assert 143 == process.wait(60)
    process.stdin.close()
    assert [] == list(tmp_path.iterdir())


def opened(process):
    """The files that a process has open."""
    place = f"/proc/{process}/fd"
    found = set()
    for name in os.listdir(place):
        with suppress(FileNotFoundError):  # it is closed by now
            found.add(os.readlink(f"{place}/{name}"))
    return found
