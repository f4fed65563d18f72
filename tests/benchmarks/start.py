"""From the prompt to the answer: CPU seconds of commands with one record, each a new process.

    python -m tests.benchmarks.start

The peer of `encode` and `search --model` is a script that does the same with sentence-transformers,
once. What is exported for ONNX Runtime the first time is there before anything is measured, and so
are our modules as bytecode. Rows of imports are floors: what a command line, and one that runs a
model without torch, cannot do without.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from structkit.learning.folders.hub import model_folder
from tests.benchmarks.pairs import compiled
from tests.benchmarks.rows import tell

ROUNDS = 5
TEXT = b'{"id": "1", "text": "Green tea, two cups."}\n'
PEER = """
import sys
from sentence_transformers import SentenceTransformer
print(SentenceTransformer(sys.argv[1], device="cpu").encode([sys.stdin.read()]).tolist())
"""
# arguments, the most seconds
COMMANDS = {
    "encode, one text": (("encode", "-m", "minilm"), 0.6),
    "search --model, one query": (("search", "CORPUS", "-m", "minilm"), 0.6),
    "train seal --help": (("train", "seal", "--help"), 0.4),
    "parse-trees, one sentence": (("parse-trees",), 0.8),
    "plugins": (("plugins",), 0.2),
}
FLOORS = {
    f"python -c 'import {modules}'": [sys.executable, "-c", f"import {modules}"]
    for modules in ("typer", "typer, orjson, numpy, tokenizers, onnxruntime")
}


def seconds(command: list[str]) -> float:
    """The CPU seconds of a process that reads one text."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input=TEXT, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure all, in turn."""
    compiled()
    with tempfile.TemporaryDirectory() as folder:
        corpus = str(Path(folder) / "corpus.npy")
        program = [sys.executable, "-m", "structkit"]
        make = [*program, "encode", "-q", "-m", "minilm", "-o", corpus]
        subprocess.run(make, input=TEXT, check=True)
        commands = {
            name: [*program, *(corpus if each == "CORPUS" else each for each in arguments)]
            for name, (arguments, _) in COMMANDS.items()
        }
        commands |= FLOORS
        taken: dict[str, list[float]] = {name: [] for name in commands}
        peer = [seconds([sys.executable, "-c", PEER, str(model_folder("minilm"))])]
        for _ in range(ROUNDS):
            for name, command in commands.items():
                taken[name].append(seconds(command))
    for name, found in {**taken, "sentence-transformers, one text": peer}.items():
        most = COMMANDS[name][1] if name in COMMANDS else None
        tell(f"CPU seconds of a process: {name}", found, most, unit=" s")


if __name__ == "__main__":
    main()
