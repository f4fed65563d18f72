"""Train for three steps and encode, on the pretended GPU and on the CPU: a child process.

`python -m tests.gpu.same_losses FOLDER` reads cases, `{name: [method, settings, file]}`, as JSON,
and prints a JSON line for each: losses and embeddings of both, and what was counted. It runs with
the library of guard.cpp loaded first.
"""

import json
import sys
import traceback
from contextlib import suppress
from pathlib import Path

import numpy as np

from structkit.learning.encoding.encoding import Encoding
from structkit.learning.encoding.settings import EncodingSettings
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train
from structkit.registry import load
from tests.gpu.cases import without_dropout
from tests.gpu.pretend import on_device
from tests.jsonl import read
from tests.learning.training.materials import stopping, train_on

STEPS = 3


def trained(method, settings, file, folder, *, gpu):
    """The losses of a training, and what was counted."""
    with on_device(gpu) as counts:
        summary = train_on(file, method, folder, max_steps=STEPS, **settings)
        return summary["losses"]["loss"], counts


def encoded(folder, records, *, gpu, dtype="fp32"):
    """The embeddings of records, and what was counted."""
    with on_device(gpu) as counts:
        settings = EncodingSettings(model=str(folder), offline=True, engine="torch", dtype=dtype)
        encoding = Encoding(settings, device="cuda" if gpu else "cpu")
        return np.concatenate([rows for _, rows in encoding.embedded(records)]), counts


def compare(method, settings, file, folder):
    """What a method gives on both devices, and what was counted."""
    losses, counts = trained(method, settings, file, folder / "gpu", gpu=True)
    expected, _ = trained(method, settings, file, folder / "cpu", gpu=False)
    found = {
        "losses": losses,
        "expected": expected,
        "mixed": counts.mixed,
        # the first step makes the optimizer's state
        "waits": [dict(step.most_common()) for step in counts.steps[1:]],
        "copies": dict(counts.copies.most_common(5)),
        "kernels": counts.kernels,
        "moved": sorted(counts.moved),
    }
    return found if method == "cross-encoder" else found | embeddings(folder / "gpu", file)


def embeddings(folder, file):
    """How embeddings differ on both devices, and what was counted."""
    records = read(Path(file))
    found, encoding = encoded(folder, records, gpu=True)
    same, _ = encoded(folder, records, gpu=False)
    coarse, _ = encoded(folder, records, gpu=True, dtype="bf16")
    return {
        "mixed in encoding": encoding.mixed,
        "encoding": {"waits": encoding.waits, "copies": encoding.copies},
        "difference": float(np.abs(found - same).max()),
        "coarse": float(np.abs(coarse - same).max()),
        "largest": float(np.abs(same).max()),
    }


def resumed(method, settings, file, folder):
    """The weights of a training on the pretended GPU, and of one that was stopped and went on."""
    values = {**settings, "max_steps": 2 * STEPS}
    with on_device(True):
        kind, options = load("method", method), {"quiet": True, "log_every": 1}
        plain = kind(**values)
        train(method, plain, [file], RunOptions(output=str(folder / "whole"), **options))
        options["output"] = str(folder / "parts")
        ended = stopping(kind, 2 * STEPS - 1, KeyError("stop"))(**values)
        with suppress(KeyError):
            train(method, ended, [file], RunOptions(**options, save_every=2))
            raise AssertionError("it was not stopped")
        train(method, plain, [file], RunOptions(**options, resume=True))
    logs = [(folder / each / "losses.jsonl").read_bytes() for each in ("whole", "parts")]
    weights = [(folder / each / "model.safetensors").read_bytes() for each in ("whole", "parts")]
    return {"logs": logs[0] == logs[1], "weights": weights[0] == weights[1]}


def main(folder):
    cases = json.loads(sys.stdin.read())
    print(json.dumps({"case": "resumed", **resumed(*cases["santa"], Path(folder, "resumed"))}))
    without_dropout()
    for name, (method, settings, file) in cases.items():
        try:
            found = compare(method, settings, file, Path(folder, name))
        except Exception:  # the test of this case shows it, and the others go on
            found = {"error": traceback.format_exc()}
        print(json.dumps({"case": name, **found}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
