"""A training step of StrAE beside plain recursion in torch and beside message passing in DGL.

Contrastive and cross-entropy on given trees, and Self-StrAE; batch 128, 24 words in the mean,
vocabulary 25,000, embeddings of 100; forward, backward and Adam; CPU time of one thread, medians of
steps in turn. DGL is no dependency: for `make bench ONLY=strae DGL=FOLDER`, FOLDER holds what

    pip install --no-deps --target FOLDER dgl==1.1.3 psutil requests urllib3 idna certifi \\
        charset-normalizer tqdm networkx packaging scipy

installed; without it, or where it cannot be imported, a line says so. The peers are written as one
would, the one on DGL as StrAE's authors describe it, with all scores in one matrix.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from structkit.learning.strae import training as tree_training
from structkit.learning.strae.sentences import Sentences
from structkit.learning.strae.settings import NodeSettings
from structkit.learning.strae.training import StraeTraining
from structkit.learning.strae.vocabulary import Vocabulary
from structkit.learning.training.devices import fastest_matmul
from structkit.learning.training.settings import Step
from structkit.registry import load
from tests.benchmarks.processes import PYTHON, measured
from tests.benchmarks.strae_peers import DglStrae, PlainStrae, peer_step
from tests.benchmarks.table import Given, tell

WORDS = 25_000
TARGETS = {
    "contrastive": {"recursion": 7, "DGL": 5},
    "ce": {"recursion": 4, "DGL": 3},
    "self-strae": {"recursion": 7, "DGL": 6.5},
}


def corpus(batch: int) -> Sentences:
    """Random trees of random sentences: lengths as in text, words by Zipf's law."""
    draw = np.random.default_rng(0)
    lengths = np.clip(draw.gamma(6, 4, batch).round(), 4, 60).astype(int)
    return Sentences(
        (np.minimum(draw.zipf(1.3, length), WORDS - 1).tolist(), depths(length, draw))
        for length in lengths
    )


def depths(length: int, draw: np.random.Generator) -> list[int]:
    """The leaves' depths in a random tree that leans to the right, as parses do."""
    found, waiting = [], [(length, 0)]
    while waiting:
        size, depth = waiting.pop()
        if size == 1:
            found.append(depth)
            continue
        left = 1 + int((size - 1) * draw.beta(0.5, 1.5))
        waiting += [(size - left, depth + 1), (left, depth + 1)]
    return found


def ours(kind: str, sentences: Sentences) -> Callable[[], Any]:
    """One step of structkit's training."""
    objective = "ce" if kind == "ce" else "contrastive"
    method = load("method", "self-strae" if kind == "self-strae" else "strae")
    settings: NodeSettings = method(objective=objective)
    vocabulary = Vocabulary([str(number) for number in range(WORDS)])
    training = StraeTraining(settings, settings.untrained(WORDS), vocabulary, sentences).train()
    optimizer = training.optimizer()
    step = Step(0, "train", 0, list(range(len(sentences))))

    def run() -> None:
        optimizer.zero_grad(set_to_none=True)
        training.backward(training.batch([], step))
        optimizer.step()

    return run


def seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def compare(kind: str, sentences: Sentences, dgl: Any, rounds: int) -> None:
    """How many times faster than each peer that can run here."""
    mine = ours(kind, sentences)
    mine()
    models: dict[str, Any] = {"recursion": PlainStrae(WORDS)}
    if dgl is not None:
        models["DGL"] = DglStrae(WORDS, dgl)
    for name, model in models.items():
        peer = peer_step(model, kind, sentences)
        peer()
        times = [(seconds(mine), seconds(peer)) for _ in range(rounds)]
        note = f"[{min(our for our, _ in times) * 1000:.0f} ms]"
        title = f"StrAE {kind}, a step: {name} / ours"
        ratios = [theirs / our for our, theirs in times]
        tell(title, ratios, TARGETS[kind][name], more=True, note=note)


def overhead(sentences: Sentences, rounds: int) -> None:
    """The share of a contrastive step that is not the loss."""
    step = ours("contrastive", sentences)
    loss = tree_training.contrastive_loss
    spent = 0.0

    def timed(*inputs: Any) -> Any:
        nonlocal spent
        start = time.process_time()
        found = loss(*inputs)
        spent += time.process_time() - start
        return found

    tree_training.contrastive_loss = timed
    percent = []
    for _ in range(rounds + 1):
        spent = 0.0
        whole = seconds(step)
        percent.append(100 * (1 - spent / whole))
    tree_training.contrastive_loss = loss
    tell("StrAE contrastive, a step: all but the loss", percent[1:], 12, unit=" %")


def imported(folder: Path | None) -> Any:
    """DGL from its folder, or nothing and a line that says why."""
    if folder is None:
        print("StrAE: no comparison with DGL (name its folder with DGL=FOLDER)")
        return None
    sys.path.append(str(folder.resolve()))
    try:
        os.environ.setdefault("DGLBACKEND", "pytorch")
        return importlib.import_module("dgl")
    except (ImportError, OSError) as error:
        print(f"StrAE: no comparison with DGL: {error}")
        return None


def strae(given: Given, folder: Path) -> None:
    """Run all comparisons, with one thread."""
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision(fastest_matmul())  # as training does
    dgl = imported(given.dgl)
    sentences = corpus(128)
    for kind in TARGETS:
        compare(kind, sentences, dgl, given.rounds)
    overhead(sentences, given.rounds)
    script = "from tests.benchmarks.strae import large_steps; large_steps()"
    peak = measured([PYTHON, "-c", script]).peak / 2**30
    tell("StrAE contrastive, batch 512: peak memory", [peak], 1, unit=" GB")


def large_steps() -> None:
    """Two steps at batch 512 in this process."""
    torch.set_num_threads(1)
    step = ours("contrastive", corpus(512))
    step()
    step()
