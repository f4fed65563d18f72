"""Files of embeddings, and the runs of a search over them."""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from structkit.commands.search import Settings, search
from structkit.embeddings.vectors import TextEncoding
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


def found(
    corpus: str | list[str],
    queries: str,
    k: int = K,
    encoding: TextEncoding | None = None,
    **options: object,
) -> list[Record]:
    """The run of queries in a file, by the settings of `search`."""
    files = [corpus] if isinstance(corpus, str) else corpus
    settings = make(Settings, {"corpus": files, "queries": [queries], "k": k, **options})
    return list(search(settings, encoding=encoding))


def pairs(run: list[Record]) -> list[tuple[str, str]]:
    return [(record["query_id"], record["doc_id"]) for record in run]
