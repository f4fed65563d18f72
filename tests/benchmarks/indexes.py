"""Approximate indexes beside exact search: how many times as fast at recall@10 of 0.95.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.indexes CORPUS QUERIES

Both are .npy files of `structkit encode`. Each index is built once and searched with more and more
care, until it finds 95 % of what exact search finds; CPU time of one thread, medians of interleaved
runs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import faiss
import numpy as np

from structkit.embeddings.reading import read_embeddings
from structkit.registry import find, load
from structkit.searching.hits import SearchOptions

K = 10
RECALL, TARGET = 0.95, 20
# of the default of `--index hnsw` and `ivf`, in rising order
CARE = {
    "ivf": [f"nprobe={number}" for number in (4, 8, 16, 32, 48, 64, 80, 96, 128)],
    "HNSW32": [f"efSearch={number}" for number in (10, 20, 40, 80, 160, 320, 640)],
}


def timed(
    searcher: Any, queries: np.ndarray, clock: Callable[[], float] = time.process_time
) -> tuple[float, list[set[str]]]:
    """Seconds of a search, by default of CPU, and what it found."""
    size = searcher.batch(K)
    start = clock()
    found = []
    for first in range(0, len(queries), size):
        found += searcher.search(queries[first : first + size], K)
    return clock() - start, [{hit.doc_id for hit in hits} for hits in found]


def recall(found: list[set[str]], truth: list[set[str]]) -> float:
    pairs = zip(found, truth, strict=True)
    return float(np.mean([len(one & other) / len(other) for one, other in pairs]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus")
    parser.add_argument("queries")
    parser.add_argument("--first", type=int, default=1000, help="queries that are searched")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--index", choices=list(CARE), action="append", help="default: all")
    args = parser.parse_args()
    exact, approximate = load("backend", "exact")(), load("backend", "approximate")()
    set_parameters = find("backend", "approximate").imported().set_parameters
    faiss.omp_set_num_threads(1)
    rows = read_embeddings([args.queries]).vectors
    queries = np.ascontiguousarray(np.asarray(rows[: args.first], np.float32))
    peer = exact.opened([args.corpus], SearchOptions())
    flat = approximate.opened([args.corpus], SearchOptions())
    _, truth = timed(peer, queries)
    for name in args.index or CARE:
        start = time.process_time()
        searcher = approximate.opened([args.corpus], SearchOptions(index=name))
        built = time.process_time() - start
        for parameters in CARE[name]:
            set_parameters(searcher.index, parameters)
            found = recall(timed(searcher, queries)[1], truth)
            if found >= RECALL:
                break
        ways = peer, flat, searcher
        times = [[timed(way, queries)[0] for way in ways] for _ in range(args.runs)]
        ratio, of_faiss = (
            statistics.median(each[way] / each[2] for each in times) for way in (0, 1)
        )
        speed = len(queries) / statistics.median(each[2] for each in times)
        verdict = "ok" if ratio >= TARGET and found >= RECALL else "MISSED"
        print(
            f"{name + ', ' + parameters:<20} built in {built:.0f} s; recall@{K} {found:.3f}, "
            f"{ratio:.1f}x exact search, {of_faiss:.0f}x IndexFlatIP, {speed:,.0f} queries/s  "
            f"target {TARGET}x exact search  {verdict}",
            flush=True,
        )


if __name__ == "__main__":
    main()
