"""`make soak`: a training that loses a process at any moment, again and again.

python -m tests.soak.kills [--count 20] [--seed N]

Two processes train; one of them, or their launcher, is killed. What is left must be whole: no half
model, a checkpoint that loads, no process; and a run on another number of processes that resumes
ends with the model of one that was never stopped.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from safetensors.torch import load_file

from tests.learning.training.bert import small_bert
from tests.learning.training.ranks import lives

RATE = 1e-5
PATIENCE = 30  # seconds until an error
COMMAND = (
    f"train contrastive train.jsonl --model bert --batch-size 4 --epochs 30 --learning-rate {RATE} "
    "--temperature 1 --device cpu --save-every 2 --log-format json --log-every 1"
).split()


def started(folder, output, *flags):
    """A training in a folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "structkit", *COMMAND, "-o", output, *flags],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.getcwd()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def trained(folder, output, *flags):
    """The weights of a training that ends by itself."""
    process = started(folder, output, *flags)
    _, said = process.communicate()
    assert process.returncode == 0, said.decode()
    return load_file(folder / output / "model.safetensors")


def processes(parent):
    """The processes that a launcher has started and that live."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            fields = path.read_text().rpartition(")")[2].split()
            spawned = b"spawn_main" in (path.parent / "cmdline").read_bytes()
            if int(fields[1]) == parent and fields[0] != "Z" and spawned:
                found.append(int(path.parent.name))
    return found


def killed(folder, draw):
    """Kill a process of a training at a moment drawn by chance; returns what happened."""
    process = started(folder, "model", "--nproc", "2")
    while len(ranks := processes(process.pid)) < 2:
        time.sleep(0.05)
    # half of all kills come while the processes start, the others after some step
    if step := draw.choice([0, draw.randrange(1, 80)]):
        for line in process.stderr:
            if line.startswith(b"{") and json.loads(line)["step"] >= step:
                break
    time.sleep(draw.random() * (0.2 if step else 4))
    victim = draw.choice([*ranks, process.pid])
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim, signal.SIGKILL)
    since = time.monotonic()
    _, said = process.communicate(timeout=120)
    while any(map(lives, ranks)) and time.monotonic() - since < PATIENCE:
        time.sleep(0.1)
    took = time.monotonic() - since
    assert took < PATIENCE, f"{took:.0f} s until an error"
    assert not any(map(lives, ranks)), "a process is left"
    what = "launcher" if victim == process.pid else f"rank {ranks.index(victim)}"
    return what, step, process.returncode, took, said.decode()


def check(folder, expected, draw):
    """One kill, what it leaves, and the run that goes on."""
    what, step, status, took, said = killed(folder, draw)
    assert status in (0, 1, -signal.SIGKILL), (status, said)
    if status == 1:
        *_, last = said.splitlines()
        assert last.startswith("structkit: ") and "Traceback" not in said, said
    partial = folder / "model.partial"
    steps = [path for path in partial.glob("step-*") if path.suffix != ".new"]
    for path in steps:
        torch.load(path, weights_only=True)
    assert (status == 0) == (folder / "model").exists(), (status, said)
    found = trained(folder, "model", "--resume", "--nproc", draw.choice("12"))
    apart = max(float((found[name] - expected[name]).abs().max()) for name in expected)
    assert apart <= RATE, apart
    assert not partial.exists()
    left = [path.name for path in steps]
    print(f"{what} killed after step {step}: status {status} in {took:.1f} s, {left} left")  # noqa: T201


def main():
    """All kills; the first that leaves something broken is shown."""
    parser = argparse.ArgumentParser(description="A training that loses processes.")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with TemporaryDirectory(prefix="soak-kills-") as name:
        folder = Path(name)
        small_bert(folder / "bert")
        records = [
            {"id": str(number), "query": words[:9], "positive": words * (number % 3 + 1)}
            for number in range(13)
            if (words := f"red green {number} blue")
        ]
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / "train.jsonl").write_text(lines)
        expected = trained(folder, "whole")
        for number in range(args.count):
            check(folder, expected, random.Random(f"{args.seed} {number}"))
            shutil.rmtree(folder / "model")


if __name__ == "__main__":
    main()
