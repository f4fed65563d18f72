"""A training step of StrAE beside plain recursion in torch and beside message passing in DGL.

    python -m tests.benchmarks.strae --dgl FOLDER

Contrastive and cross-entropy on given trees, the latter with all words and with 2,000 drawn ones,
and Self-StrAE; batch 128, 24 words in the mean, vocabulary 25,000, embeddings of 100; forward,
backward and Adam; CPU time of one thread, medians of interleaved pairs. DGL is no dependency:
FOLDER holds what

    pip install --no-deps --target FOLDER dgl==1.1.3 psutil requests urllib3 idna certifi \\
        charset-normalizer tqdm networkx packaging scipy

installed; without it, or where it cannot be imported, a line says so. The peers are written as one
would, the one on DGL as StrAE's authors describe it, with all scores in one matrix.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from structkit.learning.strae import training as tree_training
from structkit.learning.strae.sentences import Sentences
from structkit.learning.strae.settings import StraeSettings
from structkit.learning.strae.training import StraeTraining
from structkit.learning.strae.vocabulary import Vocabulary
from structkit.learning.training.devices import fastest_matmul
from structkit.learning.training.module import TrainingModule
from structkit.learning.training.plan import Step
from structkit.registry import load
from tests.benchmarks.rows import tell
from tests.benchmarks.strae_peers import DglStrae, PlainStrae, peer_step

WORDS = 25_000
TARGETS = {
    "contrastive": {"recursion": 7, "DGL": 5},
    "ce": {"recursion": 4, "DGL": 3},
    "ce of 2,000 drawn words": {"recursion": 4, "DGL": 3},
    "self-strae": {"recursion": 7, "DGL": 6.5},
}


def corpus(batch: int, seed: int = 0) -> Sentences:
    """Random trees of random sentences: lengths as in text, words by Zipf's law."""
    draw = np.random.default_rng(seed)
    lengths = np.clip(draw.gamma(6, 4, batch).round(), 4, 60).astype(int)

    def sentence(length: int) -> tuple[list[int], list[int]]:
        ids = np.minimum(draw.zipf(1.3, length), WORDS - 1).tolist()
        return ids, depths(length, draw)

    return Sentences(sentence(length) for length in lengths)


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
    objective = "ce" if kind.startswith("ce") else "contrastive"
    method = load("method", "self-strae" if kind == "self-strae" else "strae")
    drawn = 2000 if "drawn" in kind else 0
    settings: StraeSettings = method(objective=objective, ce_samples=drawn)
    vocabulary = Vocabulary([str(number) for number in range(WORDS)], lowercase=True)
    training = StraeTraining(settings, settings.untrained(WORDS), vocabulary, sentences).train()
    return step_of(training, len(sentences))


def step_of(training: TrainingModule, batch: int) -> Callable[[], None]:
    """A step of a training on its first sentences."""
    optimizer = training.optimizer()
    step = Step(0, "train", 0, list(range(batch)))

    def run() -> None:
        optimizer.zero_grad(set_to_none=True)
        training.backward(training.batch([], step))
        optimizer.step()

    return run


def peers(kind: str, sentences: Sentences, dgl: Any) -> dict[str, Callable[[], Any]]:
    """One step of each peer that can run here."""
    models: dict[str, Any] = {"recursion": PlainStrae(WORDS)}
    if dgl is not None:
        models["DGL"] = DglStrae(WORDS, dgl)
    loss = kind.split()[0]  # the peers compare with all words
    return {name: peer_step(model, loss, sentences) for name, model in models.items()}


def seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def compare(kind: str, sentences: Sentences, dgl: Any, pairs: int) -> None:
    """Print how many times faster than each peer."""
    mine = ours(kind, sentences)
    mine()
    for name, peer in peers(kind, sentences, dgl).items():
        peer()
        times = [(seconds(mine), seconds(peer)) for _ in range(pairs)]
        ratios = [theirs / our for our, theirs in times]
        note = f"[{min(our for our, _ in times) * 1000:.0f} ms]"
        title = f"StrAE {kind}, a step: {name} / ours"
        tell(title, ratios, TARGETS[kind][name], more=True, note=note)


def overhead(sentences: Sentences, pairs: int) -> None:
    """Print the share of a contrastive step that is not the loss."""
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
    shares = []
    for _ in range(pairs + 1):
        spent = 0.0
        whole = seconds(step)
        shares.append(1 - spent / whole)
    tree_training.contrastive_loss = loss
    percent = [100 * share for share in shares[1:]]
    tell("StrAE contrastive, a step: all but the loss", percent, 12, unit=" %")


def memory() -> None:
    """Print the peak memory of a process that makes steps at batch 512."""
    command = [sys.executable, "-m", "tests.benchmarks.strae", "--memory"]
    peak = float(subprocess.run(command, capture_output=True, check=True).stdout)
    tell("StrAE contrastive, batch 512: peak memory", [peak], 1, unit=" GB")


def imported(folder: Path | None) -> Any:
    """DGL from its folder, or nothing and a line that says why."""
    if folder is None:
        print("StrAE: no comparison with DGL (name its folder with --dgl)")
        return None
    sys.path.append(str(folder.resolve()))
    try:
        os.environ.setdefault("DGLBACKEND", "pytorch")
        return importlib.import_module("dgl")
    except (ImportError, OSError) as error:
        print(f"StrAE: no comparison with DGL: {error}")
        return None


def main(arguments: list[str] | None = None) -> None:
    """Run all comparisons, with one thread."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dgl", type=Path, help="folder where dgl is installed")
    parser.add_argument("--pairs", type=int, default=5, help="steps of each way")
    parser.add_argument("--memory", action="store_true", help="only steps at batch 512")
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    if args.memory:
        step = ours("contrastive", corpus(512))
        step()
        step()
        # what getrusage says of a child includes the parent's at the fork
        lines = Path("/proc/self/status").read_text().splitlines()
        print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e6)
        return
    torch.set_float32_matmul_precision(fastest_matmul())  # as training does
    dgl = imported(args.dgl)
    sentences = corpus(128)
    for kind in TARGETS:
        compare(kind, sentences, dgl, args.pairs)
    overhead(sentences, args.pairs)
    memory()


if __name__ == "__main__":
    main()
