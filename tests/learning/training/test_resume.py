"""A stopped run that goes on ends as if it had never stopped, bit for bit.

Checkpoints are whole on the disk or not there, and only for the run that wrote them.
"""

import errno
import fcntl
import json
import os
import resource
import shutil
import subprocess
from dataclasses import replace

import pytest
import torch
from conftest import PROGRAM, WARM, environment

from structkit.errors import UserError
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train_method
from structkit.registry import load
from tests.learning.training.materials import (
    stopping,
    wait_for_step,
    write_pairs,
)

Method = load("method", "contrastive")
ENV = {"OMP_NUM_THREADS": str(torch.get_num_threads())}  # other numbers give other bits


@pytest.fixture
def data(tmp_path):
    return write_pairs(tmp_path / "train.jsonl", 40, lambda number: 0)


def method(kind=Method, **changes):
    values = {"size": "tiny", "vocabulary_size": 400, "batch_size": 8, "epochs": 4}
    return kind(**(values | changes))


def start(data, output, *, program=PROGRAM):
    command = (
        "train contrastive --size tiny --vocabulary-size 400 --batch-size 8 --epochs 400 "
        "--log-format json --log-every 1"
    ).split()
    return subprocess.Popen(
        [*program, *command, "-o", str(output), str(data)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**ENV),
    )


@pytest.mark.long
def test_a_signal_saves_a_checkpoint(data, tmp_path):
    process = start(data, tmp_path / "model")
    wait_for_step(process, 3)
    process.terminate()
    output, errors = process.communicate(timeout=60)
    assert 143 == process.returncode
    assert b"" == output
    assert b"of 2,000; add --resume to continue" in errors
    assert not (tmp_path / "model").exists()
    (name,) = (path.name for path in (tmp_path / "model.partial").iterdir())
    assert name.startswith("step-")


def test_a_folder_has_one_training_at_a_time(data, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "new")
    first = start(data, tmp_path / "new" / "model", program=WARM)
    wait_for_step(first, 3)
    before = sorted(os.walk(tmp_path))
    problem = r"another process is training into .*model; wait for it, or name another folder"
    for folder in ("new", "link"):
        for changes in ({}, {"resume": True}, {"overwrite": True}):
            options = RunOptions(output=str(tmp_path / folder / "model"), **changes)
            with pytest.raises(UserError, match=problem):
                train_method("contrastive", method(), ["not read"], options)
    assert before == sorted(os.walk(tmp_path)), "a refused training changed the folder"
    first.kill()  # the lock dies with its process
    first.communicate()
    options = RunOptions(output=str(tmp_path / "new" / "model"))
    train_method("contrastive", method(max_steps=1), [str(data)], options)
    assert ["model"] == os.listdir(tmp_path / "new")


def test_a_training_that_does_not_begin_leaves_no_folder(tmp_path):
    (tmp_path / "bad.jsonl").write_text("{")
    with pytest.raises(UserError, match="not JSON"):
        options = RunOptions(output=str(tmp_path / "a" / "b" / "model"))
        train_method("contrastive", method(), [str(tmp_path / "bad.jsonl")], options)
    assert ["bad.jsonl"] == os.listdir(tmp_path)


@pytest.mark.parametrize("size", [241, 255])
def test_a_folder_of_a_long_name_is_trained(data, tmp_path, size):
    options = RunOptions(output=str(tmp_path / ("n" * size)), save_every=1)
    small = method(max_steps=3)
    assert 3 == train_method("contrastive", small, [str(data)], options)["steps"]
    assert {"n" * size, data.name} == set(os.listdir(tmp_path))


def test_a_file_system_without_locks_trains(data, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)  # as NFS without its lock daemon
    options = RunOptions(output=str(tmp_path / "model"))
    assert 1 == train_method("contrastive", method(max_steps=1), [str(data)], options)["steps"]


def test_resume_without_a_stopped_run_starts(data, tmp_path, capsys):
    options = RunOptions(output=str(tmp_path / "new"), resume=True)
    assert 2 == train_method("contrastive", method(max_steps=2), [str(data)], options)["steps"]
    assert "starts at step 0" in capsys.readouterr().err


@pytest.mark.long
def test_resume_of_a_finished_run_changes_nothing(run, data, tmp_path):
    command = "train contrastive --size tiny --vocabulary-size 400 --max-steps 2 -o new --resume"
    first = json.loads(run(*command.split(), data).stdout)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    again = run(*command.split(), data)
    assert 0 == again.returncode
    told = "structkit: the run in new is complete; --overwrite trains it again\n"
    assert told == again.stderr.decode()
    kept = {name: first[name] for name in ("folder", "method", "steps", "losses")}
    assert {**kept, "complete": True} == json.loads(again.stdout)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    longer = run(*command.replace("2", "9").split(), data)
    told = b"max_steps (was 2, is 9); train it again with --overwrite, or name another -o\n"
    assert told in longer.stderr
    other = run(*command.split(), "--seed", "1", data)
    assert 1 == other.returncode
    assert b"the finished run in new differs in seed (was 0, is 1); train it again" in other.stderr


def test_santa_without_decoder_is_complete_too(tmp_path):
    data = write_pairs(tmp_path / "train.jsonl")
    small = {"size": "tiny", "vocabulary_size": 400, "max_steps": 0, "architecture": "bert"}
    settings, options = load("method", "santa")(**small), RunOptions(output=str(tmp_path / "m"))
    train_method("santa", settings, [str(data)], options)
    assert train_method("santa", settings, [str(data)], replace(options, resume=True))["complete"]


@pytest.mark.long
def test_sigterm_before_the_first_step_leaves_nothing(tmp_path):
    arguments = [*PROGRAM, *"train contrastive --quiet -o model".split()]
    process = subprocess.Popen(
        arguments, stdin=subprocess.PIPE, cwd=tmp_path, env=environment(**ENV)
    )
    # more than a pipe holds: some of it has been read
    process.stdin.write(b'{"query": "a", "positive": "b"}\n' * 9_999)
    process.stdin.flush()
    process.terminate()
    assert 143 == process.wait(60)
    process.stdin.close()
    assert [] == list(tmp_path.iterdir())


def run_in(folder, kind=Method, **options):
    options = RunOptions(output=str(folder / "model"), **options)
    return train_method("contrastive", method(kind), [str(folder / "train.jsonl")], options)


@pytest.fixture(scope="module")
def stopped_run(tmp_path_factory):
    """A folder with data and a run that stopped after 11 of 20 steps."""
    folder = tmp_path_factory.mktemp("stopped")
    write_pairs(folder / "train.jsonl", 40, lambda number: 0)
    with pytest.raises(KeyError, match="stop"):
        run_in(folder, stopping(Method, 11, KeyError("stop")), save_every=3)
    return folder


@pytest.fixture
def stopped(stopped_run, tmp_path):
    """A copy of it, and the folder in which it stopped."""
    folder = shutil.copytree(stopped_run, tmp_path / "copy")
    return folder, folder / "model.partial"


def test_stopped_and_resumed_is_uninterrupted(stopped, tmp_path):
    folder, partial = stopped
    with pytest.raises(UserError, match=r"stopped at step 9; continue it with --resume, or"):
        run_in(folder)
    state = torch.load(partial / "step-9", weights_only=True)
    torch.save({**state, "seconds": 1000.0}, partial / "step-9")
    summary = run_in(folder, resume=True)
    assert 20 == summary["steps"]
    assert 1000 < summary["seconds"], "without those before it was stopped"
    write_pairs(tmp_path / "train.jsonl", 40, lambda number: 0)
    run_in(tmp_path)
    for file in ("model.safetensors", "structkit.json", "losses.jsonl"):
        assert (tmp_path / "model" / file).read_bytes() == (folder / "model" / file).read_bytes()
    assert not partial.exists()


def test_a_damaged_checkpoint_is_named(stopped):
    folder, partial = stopped
    assert ["step-9"] == sorted(path.name for path in partial.iterdir())
    whole = (partial / "step-9").read_bytes()
    for content in (b"", whole[:1000], whole[:-100], b"\xff" * 1000, b"\x80\x02N."):
        (partial / "step-9").write_bytes(content)
        with pytest.raises(UserError, match=r"step-9: is damaged or cut short; .*--overwrite$"):
            run_in(folder, resume=True)


def test_a_full_disk_leaves_the_checkpoint_before(stopped, monkeypatch):
    folder, partial = stopped
    before = {path: path.read_bytes() for path in partial.iterdir()}
    save = torch.save

    def onto_a_full_disk(state, file):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
        try:
            save(state, file)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    monkeypatch.setattr(torch, "save", onto_a_full_disk)
    with pytest.raises(UserError, match=r"step-10: cannot be written: File too large; "):
        run_in(folder, resume=True, save_every=1)
    assert before == {path: path.read_bytes() for path in partial.iterdir()}


def test_only_the_same_run_is_resumed(stopped):
    folder, partial = stopped
    options = RunOptions(output=str(folder / "model"), resume=True)
    data = folder / "train.jsonl"
    with pytest.raises(UserError, match=r"differs in learning_rate \(was 5e-05, is 0.1\)"):
        train_method("contrastive", method(learning_rate=0.1), [str(data)], options)
    data.write_text(data.read_text() + '{"id": "x", "query": "q", "positive": "p"}\n')
    with pytest.raises(UserError, match=r"differs in data .*--overwrite"):
        run_in(folder, resume=True)
    assert (partial / "step-9").stat().st_size > 1000  # a refused run keeps what there is


def test_a_checkpoint_holds_all_once(stopped):
    state = torch.load(stopped[1] / "step-9", weights_only=True)
    parameters = sum(weight.nbytes for weight in state["module"].values())
    states = state["optimizer"]["state"].values()
    moments = sum(each[name].nbytes for each in states for name in ("exp_avg", "exp_avg_sq"))
    assert parameters < moments <= 2 * parameters  # a table that is not trained has none
    assert (stopped[1] / "step-9").stat().st_size < 1.1 * (parameters + moments)
