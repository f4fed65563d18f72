"""Files of embeddings, and the runs of a search over them."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from structkit.commands.search import Settings, search
from structkit.embeddings.vectors import EmbeddingRow, Vectors
from structkit.embeddings.writing import VectorFiles
from structkit.records.jsonl import Record
from structkit.settings import make

K, SIZE = 5, 16


def write(path: Path, records: Iterable[Record]) -> str:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return str(path)


def matrix(path: Path, vectors: np.ndarray, ids: list[str], **meta: object) -> str:
    np.save(path, vectors)
    stem = str(path).removesuffix(".npy")
    Path(f"{stem}.ids.txt").write_text("".join(f"{name}\n" for name in ids))
    count, dim = vectors.shape
    Path(f"{stem}.meta.json").write_text(json.dumps({"count": count, "dim": dim, **meta}))
    return str(path)


def written(path: Path, vectors: Vectors, kind: str | None, ids: Sequence[str] = ()) -> str:
    ids = ids or [f"r{number}" for number in range(len(vectors))]
    with VectorFiles(str(path), hashes=True, quantize=kind) as files:
        for first in range(0, len(ids), 3):
            some = [EmbeddingRow(each, hash=f"h{each}") for each in ids[first : first + 3]]
            files.add(some, vectors[first : first + 3])
        files.finish({"quantize": kind} if kind else {})
    return str(path)


def grouped() -> Vectors:
    """600 vectors of length 1, around twenty centers."""
    generator = np.random.default_rng(0)
    centers = generator.normal(size=(20, SIZE))
    rows = centers[np.arange(600) % 20] + 0.3 * generator.normal(size=(600, SIZE))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("f4")


def write_queries(folder: Path, vectors: Vectors) -> str:
    """Write twice every thirtieth vector as a query."""
    rows = ({"id": f"q{n}", "embedding": (vectors[n] * 2).tolist()} for n in range(0, 600, 30))
    return write(folder / "queries.jsonl", rows)


def found(
    corpus: str | list[str],
    queries: str,
    k: int = K,
    **options: object,
) -> list[Record]:
    """The run of queries in a file, by the settings of `search`."""
    files = [corpus] if isinstance(corpus, str) else corpus
    settings = make(Settings, {"corpus": files, "queries": [queries], "k": k, **options})
    return list(search(settings))


def pairs(run: list[Record]) -> list[tuple[str, str]]:
    return [(record["query_id"], record["doc_id"]) for record in run]
