"""Two processes that divide a model train it as one does, and each holds about half of it."""

import re
import signal
import subprocess
from functools import partial

import pytest
import torch
from conftest import PROGRAM, as_at_a_prompt, environment
from safetensors.torch import load_file

from structkit.errors import UserError
from structkit.learning.encoders.encoder import open_model
from structkit.learning.training.data import Spool
from structkit.learning.training.launching import launch
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train
from structkit.records.jsonl import Records
from structkit.registry import load
from tests.learning.training.materials import (
    same,
    small_bert,
    train_on,
    wait_for_step,
    write_pairs,
)
from tests.learning.training.ranks import gradients, sharded_gradients

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(torch.cuda.is_available(), reason="run with CUDA_VISIBLE_DEVICES="),
]
RATE = 1e-5
SEAL = {"batch_size": 5, "learning_rate": RATE, "temperature": 1.0}
TINY = {"size": "tiny", "vocabulary_size": 400, "batch_size": 5}
# of eleven records in batches of five, the last batch is one record: a process has no text at all
CASES = {
    "seal": ("seal", {**TINY, "architecture": "bert"}),
    "santa in chunks": ("santa", {**TINY, "chunk_size": 2}),
    "santa of a start in its mean": ("santa", {**TINY, "pooling": "mean", "chunk_size": 1}),
    "santa in place": ("santa", {**TINY, "architecture": "bert", "pooling": "cls"}),
    "checkpointing": ("contrastive", {**TINY, "checkpointing": True, "chunk_size": 2}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    small_bert(folder / "bert")
    # no record, or several, with negatives: processes have other numbers of them
    write_pairs(folder / "train.jsonl", negatives=lambda number: number % 3)
    return folder


@pytest.fixture(scope="module")
def cases(folder):
    made = []
    for kind, values in CASES.values():
        method = load("method", kind)(**values).complete()
        spool = Spool(Records.read([str(folder / "train.jsonl")]), method.prepare)
        made.append((kind, values, spool))
    return made


def test_losses_and_gradients_are_those_of_one_process(cases):
    expected = gradients(cases)
    found, held, whole = launch(partial(sharded_gradients, cases), 2)
    for name, own, shared in zip(CASES, expected, found, strict=True):
        for (parts, gradient), (other_parts, other) in zip(own, shared, strict=True):
            assert parts == pytest.approx(other_parts, rel=1e-5, abs=1e-6), name
            near = 1e-5 * max(1.0, parts["loss"])
            torch.testing.assert_close(other, gradient, rtol=0, atol=near, msg=name)
    for one, every in zip(held, whole, strict=True):
        assert 0.5 <= one / every <= 0.6


def test_a_training_is_that_of_one_process(folder, tmp_path):
    start, file = str(folder / "bert"), folder / "train.jsonl"
    train_on(file, "seal", tmp_path / "one", model=start, **SEAL)
    method = load("method", "seal")(model=start, chunk_size=2, **SEAL)
    options = RunOptions(output=str(tmp_path / "two"), nproc=2, shard_model=True, quiet=True)
    train("seal", method, [str(file)], options)
    weights = [load_file(tmp_path / each / "model.safetensors") for each in ("one", "two")]
    same(*weights, RATE)
    assert 32 == open_model(str(tmp_path / "two"))[0].width


def test_a_stopped_one_goes_on(folder, tmp_path):
    output, start = tmp_path / "model", str(folder / "bert")
    words = f"train seal --batch-size 5 --learning-rate {RATE} --temperature 1 --nproc 2 --model"
    words = [*words.split(), start, "-o", str(output), "--save-every", "3", "--log-format", "json"]
    words += ["--log-every", "1", "--shard-model", str(folder / "train.jsonl")]
    process = subprocess.Popen(
        [*PROGRAM, *words],
        stderr=subprocess.PIPE,
        env=environment(OMP_NUM_THREADS="1"),
        preexec_fn=as_at_a_prompt,
    )
    wait_for_step(process, 4)
    process.send_signal(signal.SIGTERM)
    errors = process.communicate(timeout=300)[1].decode()
    assert 143 == process.returncode, errors
    (checkpoint,) = output.with_suffix(".partial").iterdir()
    assert {".metadata", "state"} <= {each.name for each in checkpoint.iterdir()}
    method = load("method", "seal")(model=start, **SEAL)
    alone = RunOptions(output=str(output), resume=True, quiet=True)
    with pytest.raises(UserError, match="was trained with --shard-model"):
        train("seal", method, [str(folder / "train.jsonl")], alone)
    both = RunOptions(output=str(output), resume=True, quiet=True, nproc=2, shard_model=True)
    train("seal", method, [str(folder / "train.jsonl")], both)
    train_on(folder / "train.jsonl", "seal", tmp_path / "whole", model=start, **SEAL)
    expected = load_file(tmp_path / "whole" / "model.safetensors")
    same(expected, load_file(output / "model.safetensors"), RATE)


@pytest.mark.parametrize(
    ("name", "values", "processes", "message"),
    [
        ("seal", {}, 1, "--shard-model needs several processes; set --nproc 2"),
        ("strae", {}, 2, "strae is trained by one process; leave --nproc out"),
        ("strae", {}, 1, "the model of strae cannot be divided; leave --shard-model out"),
        ("static", {}, 1, "the model of static cannot be divided; leave --shard-model out"),
        ("cross-encoder", {}, 2, "the model of cross-encoder cannot be divided"),
        ("seal", {"validate": "held.jsonl"}, 2, "--shard-model keeps no best model of --validate"),
    ],
)
def test_where_it_makes_no_sense_an_error_says_so(
    folder, tmp_path, name, values, processes, message
):
    options = RunOptions(output=str(tmp_path / "m"), nproc=processes, shard_model=True)
    with pytest.raises(UserError, match=re.escape(message)):
        train(name, load("method", name)(**values), [str(folder / "train.jsonl")], options)
