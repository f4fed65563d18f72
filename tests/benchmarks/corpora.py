"""Corpora of embeddings and their queries, for what searches: of real sentences, or made."""

from __future__ import annotations

import gzip
import json
import subprocess
from itertools import islice
from pathlib import Path

import numpy as np

from tests.benchmarks.records import STRUCTKIT

QUERIES = 1000
TABLE = Path("runs/bench/static.model")  # kept for the next time


def embedded(folder: Path, data: Path, count: int) -> tuple[str, str]:
    """Sentences of Wikipedia by a table of token vectors that is distilled from MiniLM."""
    if not TABLE.exists():
        TABLE.parent.mkdir(parents=True, exist_ok=True)
        distill = [*STRUCTKIT, "train", "static", "--model", "minilm", "-o", str(TABLE), "-q"]
        subprocess.run(distill, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    files = []
    for name, rows in (("train", count), ("dev", QUERIES)):
        texts, vectors = folder / f"{name}.jsonl", str(folder / f"{name}.npy")
        with gzip.open(data / "wikitext" / f"wiki_sentences_{name}.jsonl.gz", "rb") as lines:
            texts.write_bytes(b"".join(islice(lines, rows)))
        encode = [*STRUCTKIT, "encode", "-q", "-m", str(TABLE), str(texts), "-o", vectors]
        subprocess.run(encode, check=True)
        files.append(vectors)
    corpus, queries = files
    return corpus, queries


def made(folder: Path, name: str, rows: int) -> str:
    """A file of unit vectors, (rows, 384), around centers that all files share."""
    centers = np.random.default_rng(0).normal(size=(2000, 384))
    draw = np.random.default_rng(rows)
    vectors = centers[draw.integers(0, 2000, rows)] + draw.normal(size=(rows, 384))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.save(folder / f"{name}.npy", vectors.astype(np.float32))
    (folder / f"{name}.ids.txt").write_text("".join(f"{number}\n" for number in range(rows)))
    (folder / f"{name}.meta.json").write_text(json.dumps({"count": rows, "dim": 384}))
    return str(folder / f"{name}.npy")
