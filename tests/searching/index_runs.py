"""Files of embeddings, and the runs of a search over them."""

import json
from pathlib import Path

import numpy as np

from structkit.commands.search import search
from structkit.records.jsonl import Record, Records
from structkit.searching.hits import SearchOptions

K, SIZE = 5, 16


def write(path: Path, records: list[Record]) -> str:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return str(path)


def matrix(path: Path, vectors: np.ndarray, ids: list[str], **meta: object) -> str:
    np.save(path, vectors)
    stem = str(path).removesuffix(".npy")
    Path(f"{stem}.ids.txt").write_text("".join(f"{name}\n" for name in ids))
    count, dim = vectors.shape
    Path(f"{stem}.meta.json").write_text(json.dumps({"count": count, "dim": dim, **meta}))
    return str(path)


def found(corpus: str | list[str], queries: str, **options: object) -> list[Record]:
    files = [corpus] if isinstance(corpus, str) else corpus
    given = SearchOptions(**options)  # type: ignore[arg-type]
    return list(search(files, Records.read([queries]), k=K, options=given))


def pairs(run: list[Record]) -> list[tuple[str, str]]:
    return [(record["query_id"], record["doc_id"]) for record in run]
