"""PostgreSQL with pgvector beside files: how fast it searches, its recall, seconds to load.

    python -m tests.benchmarks.database CORPUS QUERIES

Both are .npy files of `structkit encode`; without them, points around 2,000 centers. The server is
a real one, which the package pgserver starts in a temporary folder; times are by the clock, since
most of the work is the server's.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from structkit.embeddings.reading import read_embeddings
from structkit.registry import load
from structkit.searching.options import SearchOptions
from tests.benchmarks.corpora import made
from tests.benchmarks.indexes import K, recall, timed
from tests.benchmarks.rows import tell

try:
    import pgserver
except ImportError:
    pgserver = None

ROUNDS = 3


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
    """Load and index the corpus, and search it both ways in turn."""
    rows = read_embeddings([queries_file]).vectors
    queries = np.ascontiguousarray(rows[:first])
    backend = load("backend", "pgvector")()
    files = load("backend", "exact")().opened([corpus], SearchOptions())
    _, truth = timed(files, queries)
    with tempfile.TemporaryDirectory() as folder:
        server = pgserver.get_server(folder, cleanup_mode="delete")
        try:
            for index in ("flat", "hnsw"):
                options = SearchOptions(database_url=server.get_uri(), index=index)
                start = time.perf_counter()
                table = backend.opened([corpus], options)
                opened = time.perf_counter() - start
                _, found = timed(table, queries)
                ratios = [
                    timed(table, queries, time.perf_counter)[0]
                    / timed(files, queries, time.perf_counter)[0]
                    for _ in range(ROUNDS)
                ]
                title = f"pgvector, {index}, {len(files.corpus.doc_ids):,} rows"
                done = "loaded" if index == "flat" else "read again and indexed"
                note = f"{done} in {opened:.0f} s"
                tell(f"{title}: recall@{K}", [100 * recall(found, truth)], unit=" %", more=True)
                name = f"{title}: exact search in files, times as fast (by the clock)"
                tell(name, ratios, 10 if index == "flat" else None, more=True, note=note)
                table.connection.close()
        finally:
            server.cleanup()


if __name__ == "__main__":
    main(sys.argv[1:])
