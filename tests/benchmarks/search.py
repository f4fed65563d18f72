"""Exact search against a naive loop and, where faiss is installed, its IndexFlatIP.

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python -m tests.benchmarks.search --documents 1000000

Medians of interleaved runs, in queries per second; every way must find the same documents. The
bound is the bare matrix product, without looking at its scores.
"""

import argparse
import importlib.util
import statistics
import time

import numpy as np

from structkit.embeddings.reading import Embeddings
from structkit.embeddings.vectors import Matrix, largest_norm
from structkit.searching import index as index_module
from structkit.searching.index import Index
from tests.benchmarks.rows import tell


def unit_vectors(count: int, dimensions: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    vectors = generator.standard_normal((count, dimensions), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def naive(corpus: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """One query at a time: all scores, all sorted."""
    return np.stack([np.argsort(-(corpus @ query), kind="stable")[:k] for query in queries])


def product(corpus: np.ndarray, queries: np.ndarray) -> None:
    for first in range(0, len(corpus), index_module.BLOCK):
        queries @ corpus[first : first + index_module.BLOCK].T


PEERS = {
    "faiss": "faiss's IndexFlatIP",
    "naive": "a loop over queries in numpy",
    "bound": "the bare matrix product",
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--queries", type=int, default=256)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args(arguments)
    corpus = unit_vectors(args.documents, args.dimensions, 0)
    queries = unit_vectors(args.queries, args.dimensions, 1)
    ids = [f"{number:09}" for number in range(args.documents)]
    index = Index(Embeddings(ids, Matrix([corpus]), largest_norm(Matrix([corpus]))))
    few = max(1, args.queries // 16)  # the naive loop is slow
    ways = {
        "bound": (args.queries, lambda: product(corpus, queries)),
        "structkit": (args.queries, lambda: index.search(queries, args.k)[1]),
        "naive": (few, lambda: naive(corpus, queries[:few], args.k)),
    }
    if importlib.util.find_spec("faiss"):
        faiss = importlib.import_module("faiss")
        flat = faiss.IndexFlatIP(args.dimensions)
        flat.add(corpus)
        ways["faiss"] = (args.queries, lambda: flat.search(queries, args.k)[1])
    speeds: dict[str, list[float]] = {name: [] for name in ways}
    results = {}
    for _ in range(args.repeat):
        for name, (count, way) in ways.items():
            start = time.process_time()
            results[name] = way()
            speeds[name].append(count / (time.process_time() - start))
    for name, found in results.items():
        same = (
            ""
            if found is None
            else f"same {np.mean(found == results['structkit'][: len(found)]):.4f}"
        )
        print(f"{name:10} {statistics.median(speeds[name]):8.1f} queries per CPU second  {same}")
    for name, target in (("faiss", 10), ("naive", 10), ("bound", None)):
        if name in speeds:
            title = f"exact search, times as fast as {PEERS[name]}"
            pairs = zip(speeds["structkit"], speeds[name], strict=True)
            tell(title, [ours / theirs for ours, theirs in pairs], target, more=True)


if __name__ == "__main__":
    main()
