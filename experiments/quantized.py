"""Rows of fewer bits: bytes a vector, recall@10 and queries a second, beside floats and indexes.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m experiments.quantized [CORPUS QUERIES]

Both are .npy files of `structkit encode`; without them, points around 2,000 centers, which are
harder to tell apart than texts are. Prints a Markdown table. Recall is that of exact search over
the floats; queries a second are of CPU time, one thread, medians.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from structkit.embeddings import SCALES_SUFFIX
from structkit.embeddings.reading import Embeddings, read_embeddings
from structkit.embeddings.vectors import BinaryRows, EmbeddingRow, pack_signs, row_blocks
from structkit.embeddings.writing import VectorFiles
from structkit.registry import load
from structkit.searching.hits import EmbeddedCorpus
from structkit.searching.options import SearchOptions
from tests.benchmarks.search import K, made, recall, timed
from tests.benchmarks.table import machine


@dataclass(frozen=True)
class Way:
    """How rows are kept and searched; `beside` are the bytes of what rescores a vector."""

    name: str
    corpus: str
    options: SearchOptions
    backend: str = "exact"
    beside: int = 0


def written(source: Embeddings, path: Path, kind: str) -> str:
    """The rows as codes, or with `float16` as such numbers."""
    rows = [EmbeddingRow(each) for each in source.ids]
    with VectorFiles(str(path), quantize=None if kind == "float16" else kind) as files:
        for first, block in row_blocks(source.vectors):
            files.add(rows[first : first + len(block)], block)
        files.finish({"quantize": kind} if kind != "float16" else {})
    if kind == "float16":
        np.save(path, np.load(path).astype(np.float16))
        path.with_suffix(".meta.json").unlink()  # it describes other numbers
    return str(path)


def ways(corpus: str, folder: Path) -> Iterator[Way]:
    source = read_embeddings([corpus])
    dimensions = source.dimensions
    of = {kind: written(source, folder / f"{kind}.npy", kind) for kind in KINDS}
    floats, flat = 4 * dimensions, SearchOptions()
    yield Way("float32", corpus, flat)
    yield Way("float16", of["float16"], flat)
    yield Way("`--quantize int8`", of["int8"], flat)
    yield Way("… `--rescore` floats", of["int8"], rescored(corpus, 4), "codes", floats)
    yield Way("`--quantize binary`, inner product", of["binary"], flat)
    own = SearchOptions(parameters="k_factor_rf=20")
    yield Way("… Hamming distance first (`--backend codes`)", of["binary"], own, "codes")
    for factor in (5, 20, 50):
        name = f"… `--rescore` floats, {factor} times k rows"
        yield Way(name, of["binary"], rescored(corpus, factor), "codes", floats)
    name = "… `--rescore` int8, 20 times k rows"
    yield Way(name, of["binary"], rescored(of["int8"], 20), "codes", dimensions + 4)
    for index in ("int8", "binary", "ivf", "hnsw"):
        yield Way(f"`--index {index}`", corpus, SearchOptions(index=index), "approximate")


def rescored(path: str, factor: int) -> SearchOptions:
    return SearchOptions(rescore=(path,), parameters=f"k_factor_rf={factor}")


def bytes_of(searcher: Any, way: Way) -> int:
    """The bytes of a vector in the file that is searched, or in the index."""
    if way.backend == "approximate":
        return int(faiss.serialize_index(searcher.rows.index).nbytes) // len(searcher.corpus.ids)
    found, path = read_embeddings([way.corpus]), Path(way.corpus)
    scales = path.with_suffix(SCALES_SUFFIX)
    size = path.stat().st_size + (scales.stat().st_size if scales.exists() else 0)
    return size // len(found.ids)


KINDS = ("float16", "int8", "binary")


def main(files: list[str], rounds: int = 3) -> None:
    faiss.omp_set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus, queries_file = files or (made(folder, "c", 20_000), made(folder, "q", 200))
        queries = np.ascontiguousarray(read_embeddings([queries_file]).vectors[:1000])
        found = read_embeddings([corpus])
        print(f"{len(found.ids):,} rows of {found.dimensions} numbers, {len(queries):,} queries, ")
        print(f"{machine()['processor']}, one thread\n")
        print(f"| rows | bytes per vector | bytes to rescore | recall@{K} ", end="")
        print("| queries per CPU second | seconds to open |")
        print("|---|---:|---:|---:|---:|---:|", flush=True)
        truth: list[set[str]] = []
        for way in ways(corpus, folder):
            truth = row(way, queries, truth, rounds)
        rows, bits = read_embeddings([str(folder / "binary.npy")]), pack_signs(queries)
        seconds = statistics.median(distances(rows, bits) for _ in range(rounds))
        each = seconds / len(bits) / len(rows.ids) * 1e9
        print(f"\nHamming distances alone: {each:.2f} ns a row.")


def distances(corpus: Embeddings, bits: np.ndarray) -> float:
    """CPU seconds of the distances of all rows from queries, of which 20 K are kept."""
    (rows,) = corpus.vectors.parts
    assert isinstance(rows, BinaryRows)
    start = time.process_time()
    faiss.knn_hamming(bits, np.ascontiguousarray(rows.bits), 20 * K)
    return time.process_time() - start


def row(way: Way, queries: np.ndarray, truth: list[set[str]], rounds: int) -> list[set[str]]:
    """Print a row of the table; the result is what exact search finds, the first row's."""
    start = time.process_time()
    searcher = load("backend", way.backend)().open(EmbeddedCorpus([way.corpus]), way.options)
    opened = time.process_time() - start
    times = []
    for _ in range(rounds):
        seconds, found = timed(searcher, queries)
        times.append(seconds)
    speed = len(queries) / statistics.median(times)
    truth = truth or found
    size = bytes_of(searcher, way)
    print(
        f"| {way.name} | {size:,} | {way.beside or ''} | {recall(found, truth):.3f} | "
        f"{speed:,.0f} | {opened:.1f} |",
        flush=True,
    )
    return truth


if __name__ == "__main__":
    main(sys.argv[1:])
