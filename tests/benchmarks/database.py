"""PostgreSQL with pgvector beside files: seconds to load and to index, queries a second, recall.

    python -m tests.benchmarks.database CORPUS QUERIES

Both are .npy files of `structkit encode`; without them, points around 2,000 centers. The server is
a real one, which the package pgserver starts in a temporary folder; times are by the clock, since
most of the work is the server's.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from structkit.embeddings.reading import read_embeddings
from structkit.registry import load
from structkit.searching.hits import SearchOptions
from tests.benchmarks.indexes import K, recall, timed
from tests.benchmarks.rows import tell

try:
    import pgserver
except ImportError:
    pgserver = None


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


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", metavar="CORPUS QUERIES")
    parser.add_argument("--first", type=int, default=200, help="queries that are searched")
    args = parser.parse_args(arguments)
    if pgserver is None:
        print("PostgreSQL: no comparison (pgserver is not installed: it knows Python up to 3.12)")
        return
    with tempfile.TemporaryDirectory() as folder:
        given = args.files or [made(Path(folder), "c", 20_000), made(Path(folder), "q", 200)]
        compare(given[0], given[1], args.first)


def compare(corpus: str, queries_file: str, first: int) -> None:
    """Load, index and search the corpus, and search the file."""
    rows = read_embeddings([queries_file]).vectors
    queries = np.ascontiguousarray(rows[:first])
    backend = load("backend", "pgvector")()
    files = load("backend", "exact")().opened([corpus], SearchOptions())
    seconds, truth = timed(files, queries, time.perf_counter)
    by_files = seconds
    print(f"files, exact   {len(queries) / seconds:9,.0f} queries/s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        server = pgserver.get_server(folder, cleanup_mode="delete")
        try:
            for index in ("flat", "hnsw"):
                options = SearchOptions(database_url=server.get_uri(), table="t", index=index)
                start = time.perf_counter()
                table = backend.opened([corpus], options)
                opened = time.perf_counter() - start
                seconds, found = timed(table, queries, time.perf_counter)
                done = "loaded" if index == "flat" else "read again and indexed"
                print(
                    f"pgvector, {index:<4} {len(queries) / seconds:9,.0f} queries/s, recall@{K} "
                    f"{recall(found, truth):.3f}; {len(files.corpus.doc_ids):,} rows {done} in "
                    f"{opened:.0f} s",
                    flush=True,
                )
                ratio = seconds / by_files
                title = f"exact search in files, times as fast as pgvector's {index} (by the clock)"
                tell(title, [ratio], 10 if index == "flat" else None, more=True)
                table.connection.close()
        finally:
            server.cleanup()


if __name__ == "__main__":
    main(sys.argv[1:])
