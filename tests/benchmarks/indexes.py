"""Approximate indexes beside exact search: how many times as fast at recall@10 of 0.95.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.indexes [CORPUS QUERIES]

Both are .npy files of `structkit encode`. Without them, sentences of Wikipedia from the folder
`--data`, by a table of token vectors; without that, points around 2,000 centers. Each index is
built once and searched with more and more care, until it finds 95 % of what exact search finds; CPU
time of one thread, medians of interleaved runs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from structkit.embeddings.reading import read_embeddings
from structkit.registry import find, load
from structkit.searching.options import SearchOptions
from tests.benchmarks.corpora import QUERIES, embedded, made
from tests.benchmarks.rows import tell

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


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", metavar="CORPUS QUERIES")
    parser.add_argument("--data", type=Path, help="the folder of wikitext/")
    parser.add_argument("--rows", type=int, default=50_000, help="of a corpus that is made")
    parser.add_argument("--first", type=int, default=QUERIES, help="queries that are searched")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--index", choices=list(CARE), action="append", help="default: all")
    args = parser.parse_args(arguments)
    faiss.omp_set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if args.files:
            corpus, queries = args.files
        elif args.data:
            corpus, queries = embedded(folder, args.data, args.rows)
        else:
            corpus, queries = made(folder, "c", args.rows), made(folder, "q", QUERIES)
        kind = "sentences" if args.data else "rows"
        vectors = read_embeddings([queries]).vectors
        first = np.ascontiguousarray(np.asarray(vectors[: args.first], np.float32))
        compare(corpus, first, kind, args.index or list(CARE), args.runs)


def compare(corpus: str, queries: np.ndarray, kind: str, names: list[str], runs: int) -> None:
    """Rows of each index, beside exact search."""
    approximate = load("backend", "approximate")()
    peer = load("backend", "exact")().opened([corpus], SearchOptions())
    _, truth = timed(peer, queries)
    for name in names:
        start = time.process_time()
        searcher = approximate.opened([corpus], SearchOptions(index=name))
        built = time.process_time() - start
        parameters, found = careful(searcher, name, queries, truth)
        ratios = [timed(peer, queries)[0] / timed(searcher, queries)[0] for _ in range(runs)]
        title = f"search --index {name}, {len(peer.corpus.doc_ids):,} {kind}"
        note = f"{parameters}, built in {built:.0f} s"
        tell(f"{title}: recall@{K}", [100 * found], 100 * RECALL, unit=" %", more=True, note=note)
        tell(f"{title}: times as fast as exact search", ratios, TARGET, more=True)


def careful(
    searcher: Any, name: str, queries: np.ndarray, truth: list[set[str]]
) -> tuple[str, float]:
    """The least care that finds enough, which the index has from now on, and what it finds."""
    set_parameters = find("backend", "approximate").imported().set_parameters
    for parameters in CARE[name]:
        set_parameters(searcher.index, parameters)
        found = recall(timed(searcher, queries)[1], truth)
        if found >= RECALL:
            break
    return parameters, found


if __name__ == "__main__":
    main(sys.argv[1:])
