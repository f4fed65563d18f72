"""Two processes train as one, and end as one."""

import json
import logging
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from operator import itemgetter

import numpy as np
import pytest
import torch
from conftest import PROGRAM, as_at_a_prompt, environment, python
from safetensors.torch import load_file

from structkit.errors import UserError
from structkit.learning.training.data import Spool
from structkit.learning.training.launching import launch
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import check_processes, train_method
from structkit.processes import cores
from structkit.progress import quiet_block
from structkit.records.jsonl import Records
from structkit.registry import load
from tests.learning.training.materials import same, small_bert, wait_for_step, write_pairs
from tests.learning.training.ranks import dies, everything, fails, gradients, lives, threads
from tests.tolerances import bound

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="run with CUDA_VISIBLE_DEVICES=")
RATE = 1e-5
ENV = {"OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small BERT without dropout, and records with a last batch that one process gets alone."""
    folder = tmp_path_factory.mktemp("ranks")
    small_bert(folder / "bert")
    write_pairs(folder / "train.jsonl")
    write_pairs(folder / "ragged.jsonl", 11, lambda number: (0, 2, 1, 3)[number % 4])
    return folder


def command(folder, output, *flags):
    return [
        *PROGRAM, *f"train seal --batch-size 5 --learning-rate {RATE} --temperature 1".split(),
        "--model", str(folder / "bert"), "-o", str(output),
        "--log-format", "json", "--log-every", "1", *flags, str(folder / "train.jsonl"),
    ]  # fmt: skip


def settings(folder, **changes):
    values = {"batch_size": 5, "learning_rate": RATE, "temperature": 1.0} | changes
    return load("method", "seal")(model=str(folder / "bert"), **values)


@pytest.fixture(scope="module")
def alone(folder):
    """What one process trains: its weights and its summary."""
    output = folder / "alone"
    summary = train_method(
        "seal", settings(folder), [str(folder / "train.jsonl")], RunOptions(output=str(output))
    )
    return load_file(output / "model.safetensors"), summary


@pytest.mark.long
def test_two_processes_are_one(folder, alone, tmp_path, capfd):
    weights, summary = alone
    run = RunOptions(output=str(tmp_path / "two"), nproc=2, log_format="json", log_every=1)
    found = train_method("seal", settings(folder, chunk_size=2), [str(folder / "train.jsonl")], run)
    # 11 records in batches of 5: the last batch is one record, and one process has nothing to do
    assert 12 == found["steps"] == summary["steps"]
    same(weights, load_file(tmp_path / "two" / "model.safetensors"), RATE)
    assert summary["texts"] == found["texts"]
    losses = found["losses"]["loss"]
    near = bound(64, max(losses.values()))  # the model's longest sums
    assert summary["losses"]["loss"] == pytest.approx(losses, abs=near)
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    assert list(range(1, 13)) == [json.loads(line)["step"] for line in lines]  # one process speaks
    metadata = json.loads((tmp_path / "two" / "structkit.json").read_text())
    assert ["tagged"] == metadata["document_fields"]
    assert 1 == len(list(tmp_path.iterdir()))


@pytest.mark.long
def test_stopped_and_resumed_with_two_processes(folder, alone, tmp_path):
    output = tmp_path / "model"
    arguments = command(folder, output, "--nproc", "2", "--save-every", "3")
    process = subprocess.Popen(
        arguments, stderr=subprocess.PIPE, env=environment(**ENV), preexec_fn=as_at_a_prompt
    )
    wait_for_step(process, 4)
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=300)[1].decode()
    assert 130 == process.returncode, errors
    assert "add --resume to continue" in errors
    assert not output.exists()
    # the other way round: what two began, one ends
    run = RunOptions(output=str(output), resume=True)
    train_method("seal", settings(folder), [str(folder / "train.jsonl")], run)
    same(alone[0], load_file(output / "model.safetensors"), RATE)


@pytest.mark.long
def test_the_first_process_returns_and_all_agree_or_say_in_what_they_differ(tmp_path, monkeypatch):
    for name in ("OMP", "OPENBLAS", "MKL", "RAYON"):
        monkeypatch.delenv(f"{name}_NUM_THREADS", raising=False)
    for name in ("finished", "older"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "structkit.json").touch()
    with quiet_block(True):
        found, shared, (complete, errors) = launch(partial(everything, tmp_path), 2)
        assert logging.WARNING == logging.root.manager.disable  # quiet as before
    assert (0, 3.0, slice(0, 2)) == found
    assert {str(max(1, cores() // 2))} == {str(number) for number in shared.values()}
    # each takes the folder as the first made it
    assert [[True, True], [False, False]] == complete
    assert ["finished", "of 1.partial", "older"] == sorted(path.name for path in tmp_path.iterdir())
    differ = "process 1 differs from the first in"
    for expected, error in zip(
        (
            rf"{differ} epochs \(was 3, is 4\); start the same command",
            rf"{differ} checkpoint \(was None, is step-8\)",
            *["several processes cannot read one stdin; name a file"] * 2,
            "banyan is trained by one process; start it without torchrun",
        ),
        errors,
        strict=True,
    ):
        assert re.match(expected, error)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # the user said otherwise
    assert (str(max(1, cores() // 2)), 2) == itemgetter("rayon", "torch")(launch(threads, 2))


@pytest.mark.long
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (fails, "the loss is nan; lower it"),
        (dies, "process 1 of the training ended with status -9; continue from the last checkpoint"),
    ],
)
def test_no_process_outlives_the_others(call, message):
    with pytest.raises(UserError, match=re.escape(message)):
        launch(call, 2)
    assert [] == multiprocessing.active_children()


@pytest.mark.long
def test_no_process_outlives_its_launcher(tmp_path):
    program = (
        "import sys; from functools import partial; from pathlib import Path\n"
        "from structkit.learning.training.launching import launch\n"
        "from tests.learning.training.ranks import outlives\n"
        "launch(partial(outlives, Path(sys.argv[1])), 2)"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path], env=environment(**ENV))
    assert -signal.SIGKILL == done.returncode
    ranks = [int(each.name) for each in tmp_path.iterdir()]
    assert 2 == len(ranks)
    until = time.monotonic() + 30
    while any(map(lives, ranks)):
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.mark.long
@pytest.mark.parametrize("method", ["seal", "fasttext"])
def test_no_process_imports_from_the_current_folder(folder, tmp_path, method):
    program = tmp_path / "bin" / "program.py"  # the script that an installation has
    program.parent.mkdir()
    program.write_text("from structkit.cli.main import main\n\nmain()\n")
    (tmp_path / "signal.py").write_text("raise SystemExit('imported')")
    (tmp_path / "texts.jsonl").write_text('{"text": "a cat and a cat"}\n' * 5)
    line = {
        "seal": command(folder, "out", "--nproc", "99", "--max-steps", "1")[len(PROGRAM) :],
        "fasttext": "train fasttext texts.jsonl -o out --buckets 10 --epochs 1".split(),
    }
    done = python(program, *line[method], cwd=tmp_path, **ENV)
    assert 0 == done.returncode, done.stderr
    count = len(os.sched_getaffinity(0))
    said = f"--nproc 99 becomes {min(5, count)}: 5 records in a batch, {count} cores"
    assert method == "fasttext" or said in done.stderr


def test_what_several_processes_cannot_share_is_refused(monkeypatch):
    with pytest.raises(UserError, match="banyan is trained by one process; leave --nproc out"):
        check_processes("banyan", load("method", "banyan")(), ("a.jsonl",), RunOptions(nproc=2))
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    with pytest.raises(UserError, match="torchrun starts the processes, not --nproc; leave it out"):
        train_method(
            "contrastive", load("method", "contrastive")(), ["a.jsonl"], RunOptions(nproc=2)
        )


def test_more_processes_than_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(UserError, match=r"--nproc 2 needs as many GPUs, but there are 1; lower it"):
        check_processes("seal", load("method", "seal")(), (), RunOptions(nproc=2))


# a lower temperature enlarges rounding errors
ENCODER = {"size": "tiny", "vocabulary_size": 400, "temperature": 1.0, "batch_size": 5, "epochs": 1}

SUMS = {"temperature": 32.0}  # of scores that are sums over so many rows


@pytest.fixture
def cases(folder):
    """Methods with their settings and their records."""
    found = []
    for name in ("contrastive", "santa", "seal", "colbert"):
        for values in (ENCODER, ENCODER | {"chunk_size": 2}):
            found.append((name, values | (SUMS if name == "colbert" else {})))
    adapter = {"model": str(folder / "bert"), "batch_size": 5, "epochs": 1, "lora_rank": 4}
    found.append(("contrastive", adapter))
    ragged = ENCODER | {"negatives_per_query": 2}
    files = ["train.jsonl"] * len(found) + ["ragged.jsonl"] * 4
    found += [("contrastive", ragged), ("colbert", ragged | SUMS), ("santa", ragged)]
    found += [("seal", ragged | {"stages": "joint"})]
    return [
        (
            name,
            values,
            Spool(Records.read([str(folder / file)]), load("method", name)(**values).prepare),
        )
        for (name, values), file in zip(found, files, strict=True)
    ]


@pytest.mark.long
def test_losses_and_gradients_of_shared_batches_are_those_of_one_process(cases):
    alone, together = gradients(cases), launch(partial(gradients, cases), 3)
    for (name, values, _), expected, found in zip(cases, alone, together, strict=True):
        assert len(expected) == len(found) >= 3
        for (parts, own), (shared_parts, shared) in zip(expected, found, strict=True):
            near = 1e-6 * max(1.0, parts["loss"])  # of which each gradient is a share
            assert parts == pytest.approx(shared_parts, rel=0, abs=near), (name, values)
            np.testing.assert_allclose(shared, own, rtol=0, atol=near, err_msg=f"{name} {values}")
