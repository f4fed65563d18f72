"""The peak of memory of a step of `train santa` with an encoder-only start.

    python -m tests.benchmarks.santa

MiniLM, 64 pairs, documents of 160 tokens that are all to be predicted, each among 30,522.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile

import torch

from structkit.learning.training.plan import Step
from structkit.learning.training.spool import Spool
from structkit.records.jsonl import Records
from structkit.registry import load
from tests.benchmarks.rows import tell

BATCH, LENGTH = 64, 160
MOST = 3.0  # GB


def step(chunk: int) -> None:
    """One step in this process; its peak on stdout, in GB."""
    torch.set_num_threads(1)
    names = "red one two six ten sun sea sky".split()
    target = " ".join(f"<extra_id_{number}> {name}" for number, name in enumerate(names))
    text = " ".join(f"<extra_id_{number}>" for number in range(len(names)))
    text = " ".join([text] * (LENGTH // len(names)))
    record = {"positive": text, "masked": text, "target": f"{target} <extra_id_{len(names)}>"}
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for number in range(BATCH):
            file.write(
                json.dumps({"id": str(number), "query": f"number {number}", **record}) + "\n"
            )
        file.flush()
        method = load("method", "santa")(
            model="minilm", batch_size=BATCH, document_length=LENGTH, chunk_size=chunk
        )
        spool = Spool(Records.read([file.name]), method.prepare)
    module = method.settled(offline=True).build(spool, offline=True).train()
    records = [spool[number] for number in range(BATCH)]
    module.backward(module.batch(records, Step(0, "train", 0, list(range(BATCH)))))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


def main() -> None:
    """Measure it in processes of their own."""
    for chunk in (0, 16):
        script = f"from tests.benchmarks.santa import step; step({chunk})"
        run = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True)
        peak = float(run.stdout.split()[-1])
        title = f"train santa, encoder-only, {BATCH} x {LENGTH} tokens, --chunk-size {chunk}: peak"
        tell(title, [peak], MOST, unit=" GB")


if __name__ == "__main__":
    main()
