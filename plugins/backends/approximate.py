"""Approximate search over files with faiss: HNSW, IVF, or any factory string."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import orjson

from structkit import plugin
from structkit.embeddings.reading import (
    Embeddings,
    check_unique,
    id_line,
    read_errors,
    read_fields,
    read_ids,
    read_meta,
    same_model,
)
from structkit.embeddings.vectors import (
    UNIT_TOLERANCE,
    IntArray,
    Matrix,
    Vectors,
    are_unit,
    row_blocks,
)
from structkit.errors import UserError, flag
from structkit.paths import refuse_pipe
from structkit.progress import Position, progress, say
from structkit.records.jsonl import cannot_read
from structkit.records.output import refuse_existing, whole_folder
from structkit.searching.exact import RESCORE_FACTORS, Exact, candidates_factor
from structkit.searching.hits import (
    EmbeddedCorpus,
    Hit,
    Searcher,
    best_of_documents,
    check_options,
    check_similarity,
    row_record,
)
from structkit.searching.options import SearchOptions

SUPPORTED_OPTIONS = ("explain", "index", "parameters", "save_index", "similarity")
SIMILARITY_OF_METRIC = {faiss.METRIC_L2: "euclidean", faiss.METRIC_L1: "manhattan"}
ROWS_PER_ADD = 1024  # rows added between updates of the progress
TRAINING_ROWS_PER_CLUSTER = 64  # training rows per cluster, as faiss recommends (39 … 256)
CODE_FACTORIES = {"int8": "SQ8,RFlat", "binary": "RaBitQ,RFlat"}
RESCORED_SUFFIX = ",RFlat"  # codes with the vectors beside them
TRIAL_SECONDS = 20  # for an index of 1,000 rows
MIN_CODED_ROWS = 10_000  # rows from which codes are worth training


class FaissSearcher(Searcher):
    """Index of rows; a document of several ones has the score of the best one found.

    Where it finds too few documents for a query, all its rows are compared: a graph has no way to
    rows beside many equal ones, and a few clusters may hold too few rows.
    """

    short = queries = 0  # with fewer documents than there are, and all

    def __init__(
        self, index: Any, corpus: Embeddings, options: SearchOptions, which: IntArray | None = None
    ) -> None:
        """Take an index of all rows, or of different ones: `which` is the one of each row."""
        self.index, self.corpus, self.options = index, corpus, options
        self.equal = None if which is None else EqualRows(which)
        self.dimensions, self.model = corpus.dimensions, corpus.model
        self.cut = corpus.meta.get("dimensions")
        self.rows, self.documents = len(corpus.doc_ids), len(set(corpus.doc_ids))

    def search(self, queries: Vectors, k: int) -> list[list[Hit]]:
        hits, k = self.best(self.index, queries, k), min(k, self.documents)
        self.queries += len(hits)
        if short := [number for number, found in enumerate(hits) if len(found) < k]:
            with compare_all(self.index) as index:
                again = self.best(index, queries[short], k)
            for number, found in zip(short, again, strict=True):
                hits[number] = found
                self.short += len(found) < k
        return hits

    def close(self) -> None:
        if self.short:
            problem = (
                f"{self.short:,} of {self.queries:,} queries have fewer documents than asked for"
            )
            say(f"{problem}: this index finds no more; {flag('index', 'flat')} does")

    def best(self, index: Any, queries: Vectors, k: int) -> list[list[Hit]]:
        """Return the k best documents for each query, or fewer."""
        k = min(k, self.documents)
        # as many rows as k documents have on average, and more while that is too few
        rows = k * math.ceil(self.rows / self.documents)
        while True:
            rows = min(rows, self.rows)
            found = self.find(index, queries, rows)
            hits = [best_of_documents(of_rows)[:k] for of_rows in found]
            if rows == self.rows or self.rows == self.documents:
                return hits
            ended = (len(of_rows) < rows for of_rows in found)
            if all(no_more or len(best) == k for no_more, best in zip(ended, hits, strict=True)):
                return hits
            rows *= 2

    def find(self, index: Any, queries: Vectors, rows: int) -> list[list[Hit]]:
        """Return at most `rows` rows for each query, best first."""
        scores, numbers = nearest_rows(index, queries, rows)
        if index.metric_type != faiss.METRIC_INNER_PRODUCT:  # faiss has squares of L2
            scores = -np.maximum(scores.astype(np.float64), 0)
            if index.metric_type == faiss.METRIC_L2:
                scores = -np.sqrt(-scores)
        if self.equal:
            scores, numbers = self.equal.expand(scores, numbers)
        return [
            [self._hit(score, row) for score, row in zip(*found, strict=True) if row >= 0]
            for found in zip(scores.tolist(), numbers.tolist(), strict=True)
        ]

    def _hit(self, score: float, row: int) -> Hit:
        shown = row_record(self.corpus, row) if self.options.explain else None
        return Hit(self.corpus.doc_ids[row], score, shown)


class EqualRows:
    """The rows of a corpus that equal each row of an index: `which` is the one of each row."""

    def __init__(self, which: IntArray) -> None:
        self.rows = np.argsort(which, kind="stable")
        self.sizes = np.bincount(which)
        self.starts = np.cumsum(self.sizes) - self.sizes

    def expand(self, scores: Any, numbers: IntArray) -> tuple[Any, IntArray]:
        """Return found rows of an index (queries, rows) with all that equal them; -1 at the end.

        >>> scores, numbers = np.float32([[2, 1], [3, 0]]), np.array([[1, 0], [0, -1]])
        >>> EqualRows(np.array([0, 1, 0])).expand(scores, numbers)[1].tolist()
        [[1, 0, 2], [0, 2, -1]]
        """
        sizes = np.where(numbers < 0, 0, self.sizes[numbers])  # (queries, rows)
        wanted = sizes.sum(axis=1)
        filled = np.arange(wanted.max(initial=1)) < wanted[:, None]  # (queries, most rows)
        firsts = np.repeat(np.cumsum(sizes) - sizes.ravel(), sizes.ravel())
        places = np.repeat(self.starts[numbers].ravel(), sizes.ravel())
        expanded, rows = np.zeros(filled.shape, scores.dtype), np.full(filled.shape, -1)
        expanded[filled] = np.repeat(scores.ravel(), sizes.ravel())
        rows[filled] = self.rows[places + np.arange(len(places)) - firsts]
        return expanded, rows


class FaissRows:
    """An index as one of all rows, for maxsim."""

    def __init__(self, index: Any, which: IntArray | None) -> None:
        self.index, self.equal = index, None if which is None else EqualRows(which)

    def search(self, queries: Vectors, rows: int) -> tuple[Vectors, IntArray]:
        """Return scores and numbers of the best rows for each query row, best first."""
        scores, numbers = nearest_rows(self.index, queries, min(rows, self.index.ntotal))
        return self.equal.expand(scores, numbers) if self.equal else (scores, numbers)


def nearest_rows(index: Any, queries: Vectors, rows: int) -> tuple[Vectors, IntArray]:
    """Return faiss's scores and numbers of `rows` rows for each query; -1 where it finds fewer."""
    if isinstance(index, faiss.IndexHNSW):  # it finds no more than efSearch
        index.hnsw.efSearch = max(index.hnsw.efSearch, rows)
    try:
        scores, numbers = index.search(np.ascontiguousarray(queries), rows)
    except RuntimeError as error:
        problem = f"faiss cannot search this index ({faiss_message(error)})"
        raise UserError(problem, f"give another {flag('index')}") from None
    if not np.isfinite(scores[numbers >= 0]).all():
        raise UserError("the index or a query holds NaN or infinity", "build and encode it again")
    return scores, numbers


class Backend(plugin.Backend):
    """A faiss index, built now or saved earlier.

    For maxsim it finds rows, of whose documents the vectors decide.
    """

    def open(self, corpus: EmbeddedCorpus, options: SearchOptions) -> Searcher:
        """Open the index of a corpus, or the index in a folder."""
        if options.similarity == "maxsim":
            return self._of_rows(corpus, options)
        check_options(options, "approximate", *SUPPORTED_OPTIONS)
        which = None
        if corpus.index:
            index, embeddings, which = read_index(Path(corpus.index), options)
            if SIMILARITY_OF_METRIC.get(index.metric_type) != options.similarity:
                check_similarity(options, "approximate", unit=bool(embeddings.meta.get("unit")))
        else:
            if options.save_index:
                refuse_existing(options.save_index, "save_index")
            embeddings = corpus.read(options)
            unit = options.similarity == "cosine" and are_unit(embeddings.vectors, UNIT_TOLERANCE)
            check_similarity(options, "approximate", unit=unit)
            index, which = build_index(embeddings.vectors, options.index)
            if options.save_index:
                save_index(index, embeddings, options, options.save_index, which)
        if options.parameters is not None:
            set_parameters(index, options.parameters)
        return FaissSearcher(index, embeddings, options, which)

    def _of_rows(self, corpus: EmbeddedCorpus, options: SearchOptions) -> Exact:
        """Open an index of rows for maxsim; a saved one lacks the vectors."""
        check_options(options, "approximate", *SUPPORTED_OPTIONS, "rescore")
        factor, others = candidates_factor(options, RESCORE_FACTORS["maxsim"])
        if corpus.index and not options.rescore:
            problem = f"{flag('similarity', 'maxsim')} needs the vectors of a saved index"
            raise UserError(problem, f"name them with {flag('rescore')}", status=2)
        files = options.rescore or corpus.files
        rows = EmbeddedCorpus(files, corpus.encoded).read(options, scan=not corpus.index)
        if corpus.index:
            index = open_index(Path(corpus.index), options)
            which = which_rows(Path(corpus.index), index.ntotal)
            with read_errors(beside := str(Path(corpus.index, "meta.json")), build_again_remedy()):
                meta = read_meta(beside, *rows.vectors.shape, again=build_again_remedy())
            same_model(rows.model, meta["model_sha256"], files[0], corpus.files[0])
            if meta.get("documents") != documents_of(rows):
                raise UserError("is not of these rows", build_again_remedy()).at(corpus.files[0])
        else:
            index, which = build_index(rows.vectors, options.index, rescored=False)
            if options.save_index:
                refuse_existing(options.save_index, "save_index")
                save_index(index, rows, options, options.save_index, which)
        if others:
            set_parameters(index, others)
        return Exact(rows, options, FaissRows(index, which), factor)


def distinct_rows(vectors: Matrix) -> tuple[IntArray, IntArray | None]:
    """Return the rows that equal no earlier one, and which of these each row equals, if others do.

    >>> distinct_rows(Matrix([np.float32([[1, 2], [3, 4], [1, 2]])]))
    (array([0, 1]), array([0, 1, 0]))
    """
    number = defaultdict[bytes, int](int)
    number.default_factory = number.__len__
    rows = (row.tobytes() for _, block in row_blocks(vectors) for row in block)
    which = np.array([number[blake2b(row, digest_size=16).digest()] for row in rows])
    first = np.unique(which, return_index=True)[1]
    return first, which if len(first) < len(which) else None


def build_index(
    vectors: Matrix, name: str, *, rescored: bool = True
) -> tuple[Any, IntArray | None]:
    """Build a trained and filled faiss index for inner products, and say which rows it has.

    A graph has equal rows once, since they would fill its links: the second result is the one of
    each row, if some are equal.

    `hnsw` is HNSW32. `ivf` has about 2 √n clusters; with many rows it first compares 4-bit codes of
    pairs of numbers, many at a time (Andre et al. 2017, "Accelerated Nearest Neighbor Search with
    Quick ADC"), then the vectors of the best ten times k rows. Both search enough for a high recall
    (efSearch 128; a 12th of the clusters); `--parameters` changes that. `int8` and `binary` compare
    codes of 8 bits, or of 1 bit, a number (RaBitQ, Gao and Long 2024, arXiv 2405.12497), and then
    the vectors of the best rows: these are not in an index whose rows are not `rescored`.
    """
    which = None
    if name.lower().startswith("hnsw"):
        distinct, which = distinct_rows(vectors)
        vectors = vectors.take(distinct)
    rows, dimensions = vectors.shape
    clusters = max(1, min(int(2 * math.sqrt(rows)), rows // TRAINING_ROWS_PER_CLUSTER or 1))
    codes = (
        f"PQ{dimensions // 2}x4fsr,RFlat"
        if rows >= MIN_CODED_ROWS and dimensions % 2 == 0
        else "Flat"
    )
    presets = {"hnsw": "HNSW32", "ivf": f"IVF{clusters},{codes}", "flat": "Flat", **CODE_FACTORIES}
    factory = presets.get(name, name)
    if not rescored:
        factory = factory.removesuffix(RESCORED_SUFFIX)
    if name not in presets:
        check_factory(factory, dimensions)
    try:
        index: Any = faiss.index_factory(dimensions, factory, faiss.METRIC_INNER_PRODUCT)
    except (RuntimeError, TypeError) as error:  # TypeError for invalid Unicode
        reason = faiss_message(error).partition("\n")[0]
        raise UserError(
            f"{flag('index', name)} is not an index that faiss knows ({reason})",
            "use flat, hnsw, ivf, int8, binary, or a factory string such as IVF1024,PQ32",
            status=2,
        ) from None
    if isinstance(index, faiss.IndexIDMap | faiss.IndexIDMap2):
        problem = f"{flag('index', name)} numbers the rows, which structkit does itself"
        raise UserError(problem, "leave IDMap out", status=2)
    done = 0
    if name == "hnsw":
        index.hnsw.efConstruction, index.hnsw.efSearch = 200, 128
    try:
        maximum = TRAINING_ROWS_PER_CLUSTER * max(clusters, 4096)
        train_transforms(index, vectors, maximum, name)
        if not index.is_trained:
            index.train(training_rows(vectors, maximum))
        with progress(f"build {name}", lambda: Position(done, done, rows, noun="rows")):
            for first, block in row_blocks(vectors, ROWS_PER_ADD):
                index.add(np.ascontiguousarray(block))
                done = first + len(block)
    except RuntimeError as error:
        raise UserError(
            f"faiss cannot build {factory} of {rows:,} rows ({faiss_message(error)})",
            f"use fewer clusters or codes, or {flag('index', 'hnsw')}",
        ) from None
    if name == "ivf":
        set_parameters(index, f"nprobe={max(8, clusters // (12 if rescored else 48))}")
    if name in RESCORE_FACTORS and factory.endswith(RESCORED_SUFFIX):
        set_parameters(index, f"k_factor_rf={RESCORE_FACTORS[name]}")
    return index, which


# run by `check_factory`, in a process of its own
TRIAL = """
import sys
import faiss
import numpy
rows = numpy.random.default_rng(0).standard_normal((1000, int(sys.argv[2])), numpy.float32)
index = faiss.index_factory(rows.shape[1], sys.argv[1], faiss.METRIC_INNER_PRODUCT)
index.train(rows)
index.add(rows)
index.search(rows[:2], 2)
"""


def check_factory(factory: str, dimensions: int) -> None:
    """Raise for an index that kills its process, as HNSW0 does; try it with 1,000 rows."""
    fewer_clusters = re.sub(r"IVF\d{3,}", "IVF99", factory)
    command = [sys.executable, "-P", "-c", TRIAL, fewer_clusters, str(dimensions)]
    with suppress(ValueError, subprocess.TimeoutExpired):  # NUL, which faiss refuses; slow training
        trial = subprocess.run(command, capture_output=True, timeout=TRIAL_SECONDS)
        if trial.returncode < 0:
            problem = f"faiss crashes with {flag('index', factory)}"
            raise UserError(problem, "use hnsw, ivf, int8, binary, or other numbers", status=2)


def train_transforms(index: Any, vectors: Matrix, maximum: int, name: str) -> None:
    """Train what an index does to vectors, without the offset that changes inner products.

    Errors: a transform that changes them otherwise, such as whitening.
    """
    while isinstance(index := faiss.downcast_index(index), faiss.IndexRefine):
        index = index.base_index
    if not isinstance(index, faiss.IndexPreTransform):
        return
    chain: Any = index.chain
    rows = training_rows(vectors, maximum)
    for number in range(chain.size()):
        transform = faiss.downcast_VectorTransform(chain.at(number))
        whitens = isinstance(transform, faiss.PCAMatrix) and transform.eigen_power != 0
        if whitens or not isinstance(
            transform, faiss.LinearTransform | faiss.RemapDimensionsTransform
        ):
            problem = f"{flag('index', name)} changes inner products ({type(transform).__name__})"
            raise UserError(problem, "leave that out; PCA and OPQ keep them", status=2)
        if not transform.is_trained:
            transform.train(rows)
        if isinstance(transform, faiss.PCAMatrix):
            transform.have_bias = False  # of the mean, which it subtracts
        rows = transform.apply(rows)


@contextmanager
def compare_all(index: Any) -> Iterator[Any]:
    """Let an index compare all rows, if it can."""
    graph = faiss.downcast_index(index)
    storage = faiss.downcast_index(graph.storage) if isinstance(graph, faiss.IndexHNSW) else None
    if isinstance(storage, faiss.IndexFlat | faiss.IndexScalarQuantizer | faiss.IndexPQ):
        yield storage
    elif clusters := faiss.try_extract_index_ivf(graph):
        before, clusters.nprobe = clusters.nprobe, clusters.nlist
        try:
            yield index
        finally:
            clusters.nprobe = before
    else:
        yield index


def training_rows(vectors: Matrix, maximum: int) -> Vectors:
    """Return at most `maximum` rows, spread evenly."""
    numbers = np.linspace(0, len(vectors) - 1, min(maximum, len(vectors))).astype(np.int64)
    return np.ascontiguousarray(vectors[numbers])


def set_parameters(index: Any, parameters: str) -> None:
    """Set search parameters by their names in faiss: `nprobe=16` or `efSearch=256`."""
    space: Any = faiss.ParameterSpace()
    try:
        space.set_index_parameters(index, parameters)
    except RuntimeError:
        raise UserError(
            f"{flag('parameters', parameters)}: this index has no such parameter",
            "use nprobe=16 for ivf, efSearch=256 for hnsw",
            status=2,
        ) from None


def save_index(
    index: Any, corpus: Embeddings, options: SearchOptions, folder: str, which: IntArray | None
) -> None:
    """Write the folder of an index, whole: `index` and `docid` as in Pyserini, and more.

    `rows.npy` has the row of the index for each document id, if it lacks equal ones.
    """
    meta = {
        "count": len(corpus.ids),
        "dim": corpus.dimensions,
        "index": options.index,
        "filters": list(options.filter),
        "model_sha256": corpus.model,
        "unit": are_unit(corpus.vectors, UNIT_TOLERANCE),
        "dimensions": corpus.meta.get("dimensions"),
    }
    contents: dict[str, Iterator[bytes]] = {
        "docid": (id_line(name).encode() for name in corpus.doc_ids),
        "ids.txt": (id_line(name).encode() for name in corpus.ids),
        "fields.jsonl": (orjson.dumps(record) + b"\n" for record in corpus.fields),
    }
    if options.similarity == "maxsim":  # the file of the vectors has the ids
        meta["documents"] = documents_of(corpus)
        contents = {}
    contents["meta.json"] = iter([orjson.dumps(meta, option=orjson.OPT_INDENT_2)])
    with whole_folder(folder, "save_index") as new:
        try:
            faiss.write_index(index, str(new / "index"))
        except RuntimeError as error:
            raise OSError(faiss_message(error)) from None
        if which is not None:
            np.save(new / "rows.npy", which)
        for name, lines in contents.items():
            with (new / name).open("wb") as handle:
                handle.writelines(lines)


def documents_of(corpus: Embeddings) -> str:
    """Return a hash of the document of each row."""
    return blake2b("\n".join(corpus.doc_ids).encode(), digest_size=16).hexdigest()


def read_index(folder: Path, options: SearchOptions) -> tuple[Any, Embeddings, IntArray | None]:
    """Read a saved index of structkit, or a faiss folder of Pyserini (`index` and `docid`).

    Also return `which` row of the index each row is, if equal rows are there once.

    The vectors of its rows are only in the index.
    """
    index, again = open_index(folder, options), build_again_remedy()
    which = which_rows(folder, index.ntotal)
    size = index.ntotal if which is None else len(which)
    return index, _index_rows(folder, size, index.d, again), which


def which_rows(folder: Path, count: int) -> IntArray | None:
    """Return which of `count` rows of a saved index each row is, if equal rows are there once."""
    path = folder / "rows.npy"
    if not path.exists():
        return None
    with read_errors(str(path), build_again_remedy()):
        which: IntArray = np.load(path, allow_pickle=False)
        if {*which.tolist()} != {*range(count)}:
            raise ValueError("it names other rows than the index has")
    return which


def open_index(folder: Path, options: SearchOptions) -> Any:
    """Return the index of faiss in a folder."""
    path, again = folder / "index", build_again_remedy()
    if not os.path.lexists(path):
        problem, remedy = "is a folder without an index", f"a folder of {flag('save_index')}"
        raise UserError(problem, f"name embeddings, or {remedy}").at(str(folder))
    if options.filter or options.save_index:
        name = flag("filter" if options.filter else "save_index")
        problem = f"{name} needs the embeddings, not a saved index"
        raise UserError(problem, "name the .npy or JSONL files as the corpus", status=2)
    refuse_pipe(str(path), "an index")
    try:
        path.open("rb").close()
        # mapped: an index may be larger than memory, and a search reads only what it needs
        index: Any = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except OSError as error:
        raise cannot_read(error).at(str(path)) from None
    except (RuntimeError, MemoryError) as error:  # for a damaged size faiss asks for all memory
        reason = "larger than memory" if isinstance(error, MemoryError) else faiss_message(error)
        problem = f"is damaged, or not an index (faiss: {reason})"
        raise UserError(problem, again).at(str(path)) from None
    return index


def _index_rows(folder: Path, rows: int, dimensions: int, again: str) -> Embeddings:
    """Return the metadata of an index's rows, with vectors of zeros, which take no memory."""
    doc_ids = read_ids(str(folder / "docid"), rows, again)
    zeros = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (rows, dimensions), (0, 0))
    meta_path, names, kept = (folder / name for name in ("meta.json", "ids.txt", "fields.jsonl"))
    if not meta_path.exists():
        return Embeddings(doc_ids, Matrix([zeros]), 0.0)
    meta = read_meta(str(meta_path), rows, dimensions, again=again)
    ids = check_unique(read_ids(str(names), rows, again), str(names))
    empty = kept.exists() and not kept.stat().st_size  # if nothing was kept
    fields = [] if empty else read_fields(str(kept), rows, again)
    return Embeddings(doc_ids, Matrix([zeros]), 0.0, ids, fields, meta)


def build_again_remedy() -> str:
    """Return the remedy for a damaged index."""
    return f"build the index again with {flag('save_index')}"


def faiss_message(error: Exception) -> str:
    """Return the message of faiss, without the place in its source."""
    text = str(error).strip()
    return text.partition(".cpp:")[2].partition(": ")[2] or text
