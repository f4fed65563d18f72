"""Searches beside exact search, and exact search beside faiss and the bare matrix product.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.search CORPUS QUERIES

compares indexes on .npy files of `structkit encode`. `make bench` makes its own: random vectors for
exact search; for indexes sentences of Wikipedia by a table of token vectors, where there is DATA;
else points around 2,000 centers. CPU time of one thread, medians of runs in turn.
"""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import orjson
import torch
from structkit_plugins.backends.approximate import set_parameters

from structkit.embeddings.reading import Embeddings, read_embeddings
from structkit.embeddings.vectors import ROWS_PER_BLOCK, Matrix, largest_norm
from structkit.registry import load
from structkit.searching.hits import QUERIES_PER_BATCH, EmbeddedCorpus
from structkit.searching.index import Index
from structkit.searching.options import SearchOptions
from tests.benchmarks.processes import PYTHON, STRUCTKIT, measured
from tests.benchmarks.table import Given, Race, tell
from tests.searching.index_runs import matrix

K = 10
DOCUMENTS, DIMENSIONS, DEPTH = 100_000, 384, 100
QUERIES = (1, 64, 256, 500, 5_000)
RECALL, TARGET = 0.95, 20
# of the default of `--index hnsw` and `ivf`, in rising order
CARE = {
    "ivf": [f"nprobe={number}" for number in (4, 8, 16, 32, 48, 64, 80, 96, 128)],
    "HNSW32": [f"efSearch={number}" for number in (10, 20, 40, 80, 160, 320, 640)],
}
TABLE = Path("runs/bench/static.model")  # kept for the next time


def exact(given: Given, folder: Path) -> None:
    """Queries per CPU second of exact search over those of faiss, by their number.

    Both must find the same. Ours are searched in batches, as `search` does; faiss gets all.
    """
    most = max(QUERIES)
    vectors = np.random.default_rng(0).standard_normal((DOCUMENTS + most, DIMENSIONS), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    corpus, every = vectors[:DOCUMENTS], vectors[DOCUMENTS:]
    ids = [f"{number:09}" for number in range(DOCUMENTS)]
    index = Index(Embeddings(ids, Matrix([corpus]), largest_norm(Matrix([corpus])), ids))
    flat = faiss.IndexFlatIP(DIMENSIONS)
    flat.add(corpus)
    for count in QUERIES:
        queries = every[:count]
        batches = [
            queries[at : at + QUERIES_PER_BATCH] for at in range(0, count, QUERIES_PER_BATCH)
        ]

        def products(batches: list[np.ndarray] = batches) -> None:
            for some in batches:
                for first in range(0, DOCUMENTS, ROWS_PER_BLOCK):
                    some @ corpus[first : first + ROWS_PER_BLOCK].T

        def ours(batches: list[np.ndarray] = batches) -> np.ndarray:
            return np.concatenate([index.search(some, DEPTH)[1] for some in batches])

        def peer(queries: np.ndarray = queries) -> Any:
            return flat.search(queries, DEPTH)[1]

        race = Race(given, {"ours": ours, "faiss": peer, "products": products})
        note = f"same {np.mean(race.found['faiss'] == race.found['ours']):.4f}"
        title = f"exact search, {count:,} queries, times as fast as faiss's IndexFlatIP"
        race.row(title, "faiss", "ours", 1, "products", more=True, least=0.6, note=note)


def words(given: Given, folder: Path) -> None:
    """BM25 over 30,000 texts beside bm25s: CPU seconds and memory of processes."""
    if not given.data:
        print("search --method bm25: needs DATA")
        return
    corpus, queries = folder / "texts.jsonl", folder / "queries.jsonl"
    texts = islice(pieces(given.data), 30_000)
    rows = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    asked = [{"id": row["id"], "query": " ".join(row["text"].split()[5:15])} for row in rows[::60]]
    for path, some in ((corpus, rows), (queries, asked)):
        path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in some))
    ours = [*STRUCTKIT, "search", str(corpus), "--method", "bm25", "--queries", str(queries), "-q"]
    peer = [PYTHON, "-c", BM25S, str(corpus), str(queries)]
    costs = [(measured(ours), measured(peer)) for _ in range(given.rounds)]
    title = f"search --method bm25, {len(rows):,} texts / bm25s"
    tell(title, [mine.cpu / theirs.cpu for mine, theirs in costs], 1)
    tell(f"{title}: memory", [mine.peak / theirs.peak for mine, theirs in costs], 1.2)


BM25S = """
import sys, bm25s, orjson
texts, queries = ([orjson.loads(line) for line in open(name, "rb")] for name in sys.argv[1:])
index = bm25s.BM25(k1=1.5, b=0.75)
words = bm25s.tokenize([row["text"] for row in texts], show_progress=False)
index.index(words, show_progress=False)
asked = bm25s.tokenize([row["query"] for row in queries], show_progress=False)
found, scores = index.retrieve(asked, k=100, show_progress=False)
for query, hits, of_query in zip(queries, found.tolist(), scores.tolist()):
    for rank, (hit, score) in enumerate(zip(hits, of_query), 1):
        run = {"query_id": query["id"], "doc_id": texts[hit]["id"], "score": score, "rank": rank}
        sys.stdout.buffer.write(orjson.dumps(run) + b"\\n")
"""


def pieces(data: Path) -> Iterator[str]:
    """Pages without tags, in pieces of 1,330 characters."""
    for file in sorted(data.glob("structdoc/train_docs-*.jsonl.gz")):
        with gzip.open(file, "rb") as lines:
            for line in lines:
                text = " ".join(re.sub(r"<[^>]*>", " ", orjson.loads(line)["html"]).split())
                yield from (text[at : at + 1_330] for at in range(0, len(text), 1_330))


def indexes(given: Given, folder: Path) -> None:
    """Approximate indexes of sentences, or of points, beside exact search."""
    if given.data:
        compare(*embedded(folder, given.data), "sentences", given.rounds)
    else:
        compare(made(folder, "c", 50_000), made(folder, "q", 1000), "rows", given.rounds)


def million(given: Given, folder: Path) -> None:
    """The same of a million points: the more rows, the more an index gains."""
    compare(made(folder, "c", 1_000_000), made(folder, "q", 1000), "points", given.rounds)


def compare(corpus: str, queries_file: str, kind: str = "rows", rounds: int = 3) -> None:
    """How many times as fast each index is that finds 95 % of what exact search finds.

    It is built once and searched with more and more care until it does.
    """
    faiss.omp_set_num_threads(1)
    rows = read_embeddings([queries_file]).vectors[:1000]
    queries = np.ascontiguousarray(np.asarray(rows, np.float32))
    approximate = load("backend", "approximate")()
    peer = load("backend", "exact")().open(EmbeddedCorpus([corpus]), SearchOptions())
    _, truth = timed(peer, queries)
    for name, steps in CARE.items():
        start = time.process_time()
        searcher = approximate.open(EmbeddedCorpus([corpus]), SearchOptions(index=name))
        built = time.process_time() - start
        for parameters in steps:
            set_parameters(searcher.rows.index, parameters)
            found = recall(timed(searcher, queries)[1], truth)
            if found >= RECALL:
                break
        ratios = [timed(peer, queries)[0] / timed(searcher, queries)[0] for _ in range(rounds)]
        title = f"search --index {name}, {len(peer.corpus.doc_ids):,} {kind}"
        note = f"{parameters}, built in {built:.0f} s"
        tell(f"{title}: recall@{K}", [100 * found], 100 * RECALL, unit=" %", more=True, note=note)
        tell(f"{title}: times as fast as exact search", ratios, TARGET, more=True)


def maxsim(given: Given, folder: Path, documents: int = 10_000) -> None:
    """Documents of 100 rows: those of an index of rows beside all, by queries of 32 rows."""
    faiss.omp_set_num_threads(1)
    centers = np.random.default_rng(0).normal(size=(3000, 128))
    draw = np.random.default_rng(1)
    topics = draw.integers(0, 3000, (documents, 30))
    of = np.take_along_axis(topics, draw.integers(0, 30, (documents, 100)), axis=1)
    rows = np.concatenate([near(centers[some], draw) for some in of]).astype(np.float32)
    asked = draw.choice(documents, 16, replace=False)
    queries = [near(centers[of[number, :32]], draw).astype(np.float32) for number in asked]
    ids = [str(number) for number in range(documents) for _ in range(100)]
    corpus = EmbeddedCorpus(["rows"], Embeddings(ids, Matrix([rows]), 1.0, ids))
    start, seconds, found = np.zeros(1, np.int64), [], []
    for name, index in (("exact", "flat"), ("approximate", "ivf")):
        options = SearchOptions(similarity="maxsim", index=index)
        searcher = load("backend", name)().open(corpus, options)
        before = time.process_time()
        hits = [searcher.search(each, K, start)[0] for each in queries]
        seconds.append((time.process_time() - before) / len(queries))
        found.append([{hit.doc_id for hit in of_query} for of_query in hits])
    title = f"search --similarity maxsim, {documents:,} documents of 100 rows"
    if find_spec("pylate"):  # a peer of its own installation
        scores, every = import_module("pylate.scores"), torch.from_numpy(rows)
        every = every.reshape(documents, 100, -1)
        before = time.process_time()
        peer = [scores.colbert_scores(torch.from_numpy(each)[None], every) for each in queries]
        ratio = seconds[0] * len(queries) / (time.process_time() - before)
        tops = [{str(number) for number in each[0].topk(K).indices.tolist()} for each in peer]
        note = f"same {recall(found[0], tops):.4f}"
        tell(f"{title} / PyLate's colbert_scores", [ratio], 1.5, note=note)
    title = title.replace(",", " --index ivf,", 1)
    note = f"{seconds[1]:.2f} s a query"
    tell(f"{title}: recall@{K}", [100 * recall(*found)], 100 * RECALL, unit=" %", more=True)
    tell(f"{title}: times as fast as exact", [seconds[0] / seconds[1]], 1, more=True, note=note)


def near(points: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Vectors of length 1 around points."""
    moved = points + draw.normal(size=points.shape)
    unit: np.ndarray = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return unit


def timed(searcher: Any, queries: np.ndarray) -> tuple[float, list[set[str]]]:
    """CPU seconds of a search, and what it found."""
    start = time.process_time()
    found = []
    for first in range(0, len(queries), QUERIES_PER_BATCH):
        found += searcher.search(queries[first : first + QUERIES_PER_BATCH], K)
    return time.process_time() - start, [{hit.doc_id for hit in hits} for hits in found]


def recall(found: list[set[str]], truth: list[set[str]]) -> float:
    pairs = zip(found, truth, strict=True)
    return float(np.mean([len(one & other) / len(other) for one, other in pairs]))


def embedded(folder: Path, data: Path) -> tuple[str, str]:
    """Sentences of Wikipedia and queries, by a table that is distilled from MiniLM."""
    if not TABLE.exists():
        TABLE.parent.mkdir(parents=True, exist_ok=True)
        distill = [*STRUCTKIT, "train", "static", "--model", "minilm", "-o", str(TABLE), "-q"]
        subprocess.run(distill, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    for name, rows in (("train", 50_000), ("dev", 1000)):
        texts = folder / f"{name}.jsonl"
        with gzip.open(data / "wikitext" / f"wiki_sentences_{name}.jsonl.gz", "rb") as lines:
            texts.write_bytes(b"".join(islice(lines, rows)))
        encode = [*STRUCTKIT, "encode", "-q", "-m", str(TABLE), str(texts)]
        subprocess.run([*encode, "-o", str(folder / f"{name}.npy")], check=True)
    return str(folder / "train.npy"), str(folder / "dev.npy")


def made(folder: Path, name: str, rows: int) -> str:
    """A file of unit vectors, (rows, 384), around centers that all files share."""
    centers = np.random.default_rng(0).normal(size=(2000, DIMENSIONS))
    draw = np.random.default_rng(rows)
    of, vectors = draw.integers(0, 2000, rows), np.empty((rows, DIMENSIONS), np.float32)
    for first in range(0, rows, ROWS_PER_BLOCK):
        block = vectors[first : first + ROWS_PER_BLOCK]
        points = centers[of[first : first + len(block)]] + draw.normal(size=block.shape)
        block[:] = points / np.linalg.norm(points, axis=1, keepdims=True)
    return matrix(folder / f"{name}.npy", vectors, list(map(str, range(rows))))


if __name__ == "__main__":
    compare(sys.argv[1], sys.argv[2])
