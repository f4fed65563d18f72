"""Approximate search over files with faiss: HNSW, IVF, or any factory string."""

import math
import os
import re
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
    IntArray,
    Matrix,
    Vectors,
    row_blocks,
)
from structkit.errors import UserError, flag, wrong_usage
from structkit.processes import in_child
from structkit.progress import Position, progress, say
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
METRIC = faiss.METRIC_INNER_PRODUCT
ROWS_PER_ADD = 1024  # rows added between updates of the progress
TRAINING_ROWS_PER_CLUSTER = 64  # training rows per cluster, as faiss recommends (39 … 256)
CODE_FACTORIES = {"int8": "SQ8,RFlat", "binary": "RaBitQ,RFlat"}
MAX_TRIAL_SECONDS = 300  # of the CPU for a trial; codes of many dimensions take minutes to train
RESCORED_SUFFIX = ",RFlat"  # codes with the vectors beside them
GRAPH_FACTORY = re.compile(r"(?:^|,)(?:hnsw|nsg)", re.IGNORECASE)
MIN_CODED_ROWS = 10_000  # rows from which codes are worth training


class FaissRows:
    """An index of faiss, found in as if it had all rows of a corpus.

    It may have equal ones once: then `which` is its row for each of the corpus.
    """

    def __init__(self, index: Any, which: IntArray | None = None) -> None:
        self.index, self.which = index, which
        if which is not None:
            self.rows = np.argsort(which, kind="stable")  # equal ones together
            self.sizes = np.bincount(which)
            self.starts = np.cumsum(self.sizes) - self.sizes

    def search(self, queries: Vectors, rows: int) -> tuple[Vectors, IntArray]:
        """Return scores and numbers of at least `rows` rows for each query, best first.

        Where it finds fewer, a number is -1.
        """
        index = self.index
        if isinstance(index, faiss.IndexHNSW):  # it finds no more than efSearch
            index.hnsw.efSearch = max(index.hnsw.efSearch, rows)
        try:
            scores, numbers = index.search(np.ascontiguousarray(queries), min(rows, index.ntotal))
        except RuntimeError as error:
            raise UserError(
                f"faiss cannot search this index ({faiss_message(error)})",
                f"give another {flag('index')}",
            ) from None
        if not np.isfinite(scores[numbers >= 0]).all():
            raise UserError(
                "the index or a query holds NaN or infinity", "build and encode it again"
            )
        if index.metric_type != METRIC:  # faiss has squares of L2
            scores = -np.maximum(scores.astype(np.float64), 0)
            if index.metric_type == faiss.METRIC_L2:
                scores = -np.sqrt(-scores)
        return (scores, numbers) if self.which is None else self.expand(scores, numbers)

    def expand(self, scores: Vectors, numbers: IntArray) -> tuple[Vectors, IntArray]:
        """Return found rows of the index (queries, rows) with all that equal them; -1 at the end.

        >>> scores, numbers = np.float32([[2, 1], [3, 0]]), np.array([[1, 0], [0, -1]])
        >>> FaissRows(None, np.array([0, 1, 0])).expand(scores, numbers)[1].tolist()
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

    @contextmanager
    def comparing_all(self) -> Iterator[None]:
        """Let the index compare all rows while the block runs, if it can."""
        index: Any = faiss.downcast_index(self.index)
        storage: Any = getattr(index, "storage", None)
        clusters = faiss.try_extract_index_ivf(index)
        searched = clusters.nprobe if clusters else 0
        comparable = faiss.IndexFlat | faiss.IndexScalarQuantizer | faiss.IndexPQ
        if isinstance(faiss.downcast_index(storage), comparable):
            self.index = storage
        elif clusters:
            clusters.nprobe = clusters.nlist
        try:
            yield
        finally:
            self.index = index
            if clusters:
                clusters.nprobe = searched


class FaissSearcher(Searcher):
    """Index of rows; a document of several ones has the score of the best one found.

    Where it finds too few documents for a query, all its rows are compared: a graph has no way to
    rows beside many equal ones, and a few clusters may hold too few rows.
    """

    def __init__(self, rows: FaissRows, corpus: Embeddings, options: SearchOptions) -> None:
        self.rows, self.corpus, self.options = rows, corpus, options
        self.dimensions, self.model = corpus.dimensions, corpus.model
        self.cut = corpus.meta.get("dimensions")
        self.row_count, self.documents = len(corpus.doc_ids), len(set(corpus.doc_ids))

    def search(self, queries: Vectors, k: int, starts: IntArray | None = None) -> list[list[Hit]]:
        k = min(k, self.documents)
        hits = self.best(queries, k)
        if short := [number for number, found in enumerate(hits) if len(found) < k]:
            with self.rows.comparing_all():
                again = self.best(queries[short], k)
            for number, found in zip(short, again, strict=True):
                hits[number] = found
            if fewer := sum(len(found) < k for found in again):
                problem = f"{fewer:,} of {len(hits):,} queries have fewer documents than asked for"
                say(f"{problem}: this index finds no more; {flag('index', 'flat')} does")
        return hits

    def best(self, queries: Vectors, k: int) -> list[list[Hit]]:
        """Return the k best documents for each query, or fewer."""
        # as many rows as k documents have on average, and more while that is too few
        rows = k * math.ceil(self.row_count / self.documents)
        while True:
            rows = min(rows, self.row_count)
            scores, numbers = self.rows.search(queries, rows)
            found = [
                [self._hit(score, row) for score, row in zip(*each, strict=True) if row >= 0]
                for each in zip(scores.tolist(), numbers.tolist(), strict=True)
            ]
            hits = [best_of_documents(of_rows)[:k] for of_rows in found]
            if all(
                len(best) == k or len(of_rows) < rows  # it finds no more
                for best, of_rows in zip(hits, found, strict=True)
            ):
                return hits
            rows *= 2

    def _hit(self, score: float, row: int) -> Hit:
        shown = row_record(self.corpus, row) if self.options.explain else None
        return Hit(self.corpus.doc_ids[row], score, shown)


class Backend(plugin.Backend):
    """A faiss index, built now or saved earlier.

    For maxsim it finds rows, of whose documents the vectors decide.
    """

    def open(self, corpus: EmbeddedCorpus, options: SearchOptions) -> Searcher:
        """Open the index of a corpus, or the index in a folder."""
        if options.similarity == "maxsim":
            return self._of_rows(corpus, options)
        check_options(options, "approximate", *SUPPORTED_OPTIONS)
        if corpus.index:
            rows, embeddings = read_index(Path(corpus.index), options)
            if SIMILARITY_OF_METRIC.get(rows.index.metric_type) != options.similarity:
                check_similarity(options, "approximate", embeddings)
        else:
            embeddings = corpus.read(options)
            check_similarity(options, "approximate", embeddings)
            rows = build_and_save(embeddings, options)
        if options.parameters is not None:
            set_parameters(rows.index, options.parameters)
        return FaissSearcher(rows, embeddings, options)

    def _of_rows(self, corpus: EmbeddedCorpus, options: SearchOptions) -> Exact:
        """Open an index of rows for maxsim; a saved one lacks the vectors."""
        check_options(options, "approximate", *SUPPORTED_OPTIONS, "rescore")
        factor, others = candidates_factor(options, RESCORE_FACTORS["maxsim"])
        if corpus.index and not options.rescore:
            raise wrong_usage(
                f"{flag('similarity', 'maxsim')} needs the vectors of a saved index",
                f"name them with {flag('rescore')}",
            )
        files = options.rescore or corpus.files
        vectors = EmbeddedCorpus(files, corpus.encoded).read(options, scan=not corpus.index)
        if corpus.index:
            rows = open_index(Path(corpus.index), options)
            beside, again = str(Path(corpus.index, "meta.json")), build_again_remedy()
            meta = read_meta(beside, *vectors.vectors.shape, again=again)
            same_model(vectors.model, meta["model_sha256"], files[0], corpus.files[0])
            if meta.get("documents") != documents_of(vectors):
                raise UserError("is not of these rows", again).at(corpus.files[0])
        else:
            rows = build_and_save(vectors, options)
        if others:
            set_parameters(rows.index, others)
        return Exact(vectors, options, rows, factor)


def distinct_rows(vectors: Matrix) -> tuple[IntArray, IntArray | None]:
    """Return the rows that equal no earlier one, and which of these each row equals, if others do.

    >>> distinct_rows(Matrix([np.float32([[1, 2], [3, 4], [1, 2]])]))
    (array([0, 1]), array([0, 1, 0]))
    """
    number: dict[bytes, int] = {}
    rows = (row.tobytes() for _, block in row_blocks(vectors) for row in block)
    digests = (blake2b(row, digest_size=16).digest() for row in rows)
    which = np.array([number.setdefault(digest, len(number)) for digest in digests])
    first = np.unique(which, return_index=True)[1]
    return first, which if len(first) < len(which) else None


def build_index(vectors: Matrix, name: str, *, rescored: bool) -> FaissRows:
    """Build a trained and filled faiss index for inner products.

    A graph has equal rows once, since they would fill its links.

    `hnsw` is HNSW32. `ivf` has about 2 √n clusters; with many rows it first compares 4-bit codes of
    pairs of numbers, many at a time (Andre et al. 2017, "Accelerated Nearest Neighbor Search with
    Quick ADC"), then the vectors of the best ten times k rows. Both search enough for a high recall
    (efSearch 128; a 12th of the clusters); `--parameters` changes that. `int8` and `binary` compare
    codes of 8 bits, or of 1 bit, a number (RaBitQ, Gao and Long 2024, arXiv 2405.12497), and then
    the vectors of the best rows: these are not in an index whose rows are not `rescored`.
    """
    which = None
    if GRAPH_FACTORY.search(name):
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
        index: Any = faiss.index_factory(dimensions, factory, METRIC)
    except (RuntimeError, TypeError) as error:  # TypeError for invalid Unicode
        reason = faiss_message(error).partition("\n")[0]
        raise wrong_usage(
            f"{flag('index', name)} is not an index that faiss knows ({reason})",
            "use flat, hnsw, ivf, int8, binary, or a factory string such as IVF1024,PQ32",
        ) from None
    if isinstance(index, faiss.IndexIDMap | faiss.IndexIDMap2):
        raise wrong_usage(
            f"{flag('index', name)} numbers the rows, which structkit does itself",
            "leave IDMap out",
        )
    keep_inner_products(index, name)
    done = 0
    if name == "hnsw":
        index.hnsw.efConstruction, index.hnsw.efSearch = 200, 128
    try:
        maximum = TRAINING_ROWS_PER_CLUSTER * max(clusters, 4096)
        if not index.is_trained:
            spread = np.linspace(0, rows - 1, min(maximum, rows)).astype(np.int64)
            index.train(np.ascontiguousarray(vectors[spread]))
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
    return FaissRows(index, which)


def check_factory(factory: str, dimensions: int) -> None:
    """Raise for an index that kills its process, as HNSW0, or never ends, as NSG0: try it."""

    def trial() -> bool:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # so few rows are warned of
        faiss.omp_set_num_threads(1)  # the threads of OpenMP do not survive a fork
        rows = np.random.default_rng(0).standard_normal((1000, dimensions), np.float32)
        fewer_clusters = re.sub(r"IVF\d{3,}", "IVF99", factory)
        with suppress(RuntimeError, TypeError):  # which `build_index` reports
            index: Any = faiss.index_factory(dimensions, fewer_clusters, METRIC)
            index.train(rows)
            index.add(rows)
            index.search(rows[:2], 2)
        return True

    if not in_child(trial, MAX_TRIAL_SECONDS):
        raise wrong_usage(
            f"faiss crashes or does not end with {flag('index', factory)}",
            "use hnsw, ivf, int8, binary, or other numbers",
        )


def keep_inner_products(index: Any, name: str) -> None:
    """Leave out the offset that a transform of vectors adds; it would change inner products.

    Errors: a transform that changes them otherwise, such as whitening.
    """
    while isinstance(index := faiss.downcast_index(index), faiss.IndexRefine):
        index = index.base_index
    chain: Any = index.chain if isinstance(index, faiss.IndexPreTransform) else None
    for number in range(chain.size() if chain else 0):
        transform = faiss.downcast_VectorTransform(chain.at(number))
        whitens = isinstance(transform, faiss.PCAMatrix) and transform.eigen_power != 0
        if whitens or not isinstance(
            transform, faiss.LinearTransform | faiss.RemapDimensionsTransform
        ):
            raise wrong_usage(
                f"{flag('index', name)} changes inner products ({type(transform).__name__})",
                "leave that out; PCA and OPQ keep them",
            )
        if isinstance(transform, faiss.PCAMatrix):
            transform.have_bias = False  # of the mean, which it subtracts


def set_parameters(index: Any, parameters: str) -> None:
    """Set search parameters by their names in faiss: `nprobe=16` or `efSearch=256`."""
    space: Any = faiss.ParameterSpace()
    try:
        space.set_index_parameters(index, parameters)
    except RuntimeError:
        raise wrong_usage(
            f"{flag('parameters', parameters)}: this index has no such parameter",
            "use nprobe=16 for ivf, efSearch=256 for hnsw",
        ) from None


def build_and_save(corpus: Embeddings, options: SearchOptions) -> FaissRows:
    """Build the index of embeddings, and save it if that is asked for."""
    if options.save_index:
        refuse_existing(options.save_index, "save_index")
    rescored = options.similarity != "maxsim"
    rows = build_index(corpus.vectors, options.index, rescored=rescored)
    if options.save_index:
        save_index(rows, corpus, options, options.save_index)
    return rows


def save_index(rows: FaissRows, corpus: Embeddings, options: SearchOptions, folder: str) -> None:
    """Write the folder of an index, whole: `index` and `docid` as in Pyserini, and more.

    `rows.npy` has the row of the index for each document id, if it lacks equal ones.
    """
    meta = {
        "count": len(corpus.ids),
        "dim": corpus.dimensions,
        "index": options.index,
        "filters": list(options.filter),
        "model_sha256": corpus.model,
        "unit": corpus.is_unit,
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
            faiss.write_index(rows.index, str(new / "index"))
        except RuntimeError as error:
            raise OSError(faiss_message(error)) from None
        if rows.which is not None:
            np.save(new / "rows.npy", rows.which)
        for name, lines in contents.items():
            with (new / name).open("wb") as handle:
                handle.writelines(lines)


def documents_of(corpus: Embeddings) -> str:
    """Return a hash of the document of each row."""
    return blake2b("\n".join(corpus.doc_ids).encode(), digest_size=16).hexdigest()


def read_index(folder: Path, options: SearchOptions) -> tuple[FaissRows, Embeddings]:
    """Read a saved index of structkit, or a faiss folder of Pyserini (`index` and `docid`).

    The vectors of its rows are only in the index: others are zeros, which take no memory.
    """
    rows, again = open_index(folder, options), build_again_remedy()
    shape = count, _ = rows.index.ntotal if rows.which is None else len(rows.which), rows.index.d
    doc_ids = read_ids(str(folder / "docid"), count, again)
    zeros = Matrix([np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), shape, (0, 0))])
    meta_path, names, kept = (folder / name for name in ("meta.json", "ids.txt", "fields.jsonl"))
    if not meta_path.exists():
        return rows, Embeddings(doc_ids, zeros, 0.0, doc_ids)
    meta = read_meta(str(meta_path), *shape, again=again)
    ids = check_unique(read_ids(str(names), count, again), str(names))
    empty = kept.exists() and not kept.stat().st_size  # if nothing was kept
    fields = [] if empty else read_fields(str(kept), count, again)
    return rows, Embeddings(doc_ids, zeros, 0.0, ids, fields, meta)


def open_index(folder: Path, options: SearchOptions) -> FaissRows:
    """Return the index of faiss in a folder."""
    path, again = folder / "index", build_again_remedy()
    if not os.path.lexists(path):
        problem, remedy = "is a folder without an index", f"a folder of {flag('save_index')}"
        raise UserError(problem, f"name embeddings, or {remedy}").at(str(folder))
    if options.filter or options.save_index:
        name = flag("filter" if options.filter else "save_index")
        raise wrong_usage(
            f"{name} needs the embeddings, not a saved index",
            "name the .npy or JSONL files as the corpus",
        )
    with read_errors(str(path), again):
        path.open("rb").close()
        try:
            # mapped: an index may be larger than memory, and a search reads only what it needs
            index: Any = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
        except RuntimeError as error:
            raise ValueError(f"faiss: {faiss_message(error)}") from None
        except MemoryError:  # for a damaged size faiss asks for all
            raise ValueError("larger than memory") from None
    beside = folder / "rows.npy"
    if not beside.exists():
        return FaissRows(index)
    with read_errors(str(beside), again):
        which: IntArray = np.load(beside, allow_pickle=False)
        if {*which.tolist()} != {*range(index.ntotal)}:
            raise ValueError("it names other rows than the index has")
    return FaissRows(index, which)


def build_again_remedy() -> str:
    """Return the remedy for a damaged index."""
    return f"build the index again with {flag('save_index')}"


def faiss_message(error: Exception) -> str:
    """Return the message of faiss, without the place in its source."""
    text = str(error).strip()
    return text.partition(".cpp:")[2].partition(": ")[2] or text
