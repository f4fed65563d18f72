"""Whether equal runs give equal models on this processor: each method is trained several times.

    python -m tests.benchmarks.reproducible [--runs 12] [METHOD …]

The number of distinct models is 1 everywhere; the exit status is 1 where it is not.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from pathlib import Path

from structkit import registry, reproducibility
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train
from structkit.progress import hushed
from tests.learning.training.materials import write_pairs

# of each setting that a method has: small enough for a second, large enough for all its products
SMALL = {
    "size": "tiny",
    "vocabulary_size": 420,
    "embedding_size": 100,
    "channels": 10,
    "hidden_size": 64,
    "buckets": 1000,
    "minimum_count": 1,
    "batch_size": 23,
    "epochs": 1,
    "max_steps": 3,
}


def models(name: str, data: Path, folder: Path, runs: int) -> int:
    """How many distinct models so many equal runs give."""
    kind = registry.load("method", name)
    known = {key: SMALL[key] for key in SMALL if key in kind.__dataclass_fields__}
    found = set()
    for run in range(runs):
        output = folder / f"{name}-{run}"
        train(name, kind(**known), [str(data)], RunOptions(output=str(output)))
        digest = hashlib.sha256()
        for file in sorted(output.rglob("*.safetensors")):
            digest.update(file.read_bytes())
        found.add(digest.hexdigest())
    return len(found)


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each method."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("methods", nargs="*", default=registry.names("method"))
    parser.add_argument("--runs", type=int, default=12)
    args = parser.parse_args(arguments)
    reproducibility.make_repeatable()
    print(reproducibility.difference() or "equal runs should give equal models")
    worst = 1
    with tempfile.TemporaryDirectory() as place, hushed(True):
        data = write_pairs(Path(place, "records.jsonl"), 60)
        for name in args.methods:
            count = models(name, data, Path(place), args.runs)
            worst = max(worst, count)
            print(f"{name:18} {count} distinct of {args.runs} models", flush=True)
    return int(worst > 1)


if __name__ == "__main__":
    raise SystemExit(main())
