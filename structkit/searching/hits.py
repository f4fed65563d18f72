"""Hits, the contract of a search backend, and the hits of queries by embeddings."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from structkit.embeddings.reading import (
    MATRIX_ENDINGS,
    Embeddings,
    document_id,
    read_embeddings,
    same_model,
    vector,
)
from structkit.embeddings.vectors import (
    IntArray,
    Matrix,
    TextEncoding,
    Vectors,
    are_unit,
    normalize_rows,
    row_blocks,
)
from structkit.errors import UserError, flag, program, wrong_usage
from structkit.records.fields import items
from structkit.records.jsonl import Record, Records, add_new, parse_each
from structkit.registry import Contract
from structkit.searching.options import SearchOptions
from structkit.settings import flags_given

QUERIES_PER_BATCH = 256  # queries that are searched together …
MAXSIM_QUERIES_PER_BATCH = 8  # … or with maxsim, where each has many rows
MAX_HELD_RESULTS = 1 << 21  # results that are held at a time


class Hit(NamedTuple):
    """A document, its score, and (with `explain`) the row by which it was found."""

    doc_id: str
    score: float
    best: Record | None = None


Ranked = tuple[str, list[Hit]]  # a query, and its hits, best first
QueryRow = tuple[str, Vectors]  # a query, and its embedding or a row of it


def run_records(query_id: str, ranked: Iterable[Hit]) -> Iterator[Record]:
    """Yield the run records of one query from its hits, best first."""
    for rank, (doc_id, score, best) in enumerate(ranked, 1):
        record = {"query_id": query_id, "doc_id": doc_id, "score": score, "rank": rank}
        yield {**record, "best": best} if best else record


@dataclass(frozen=True)
class EmbeddedCorpus:
    """Embeddings to search: those in files, or of the texts in files, which were just encoded."""

    files: Sequence[str]
    encoded: Embeddings | None = None

    @property
    def index(self) -> str | None:
        """The folder of a saved index, if that is the corpus."""
        is_folder = len(self.files) == 1 and os.path.isdir(self.files[0])
        return self.files[0] if is_folder else None

    def read(self, options: SearchOptions, *, scan: bool = True) -> Embeddings:
        """Return the embeddings that pass the filters; `scan` as for `read_embeddings`.

        Errors: filters that no row passes.
        """
        fields, conditions = bool(options.filter) or options.explain, options.conditions
        embeddings = self.encoded or read_embeddings(self.files, fields=fields, scan=scan)
        if not conditions:
            return embeddings
        rows = [
            row
            for row, record in enumerate(embeddings.fields)
            if matches_filters(record, conditions)
        ]
        if not rows:
            names = sorted({name for record in embeddings.fields for name in record})
            known_fields = ", ".join(names) or f"none: {program('encode')} {flag('keep')} adds some"
            problem = f"no row of the corpus passes {flag('filter', ' '.join(options.filter))}"
            remedy = f"leave one out, or name another value; its fields are {known_fields}"
            raise UserError(problem, remedy).at(self.files[0])
        return embeddings.take(np.array(rows, np.int64))


def matches_filters(record: Record, conditions: Iterable[tuple[str, str]]) -> bool:
    """Return whether the fields have these values; in a list, one item must be equal.

    >>> matches_filters({"language": "go", "tags": ["a", "b"]}, [("tags", "a"), ("tags", "b")])
    True
    >>> matches_filters({"year": 2024}, [("year", "2023")])
    False
    """
    return all(value in items(record.get(name)) for name, value in conditions)


class Searcher(ABC):
    """A corpus that is ready to be searched; a file of backends/ opens it.

    `model` is the hash of the model that encoded it, where that is known.
    """

    dimensions: int
    model: str | None
    cut: int | None = None  # to how many dimensions the corpus was cut, if it was

    @abstractmethod
    def search(self, queries: Vectors, k: int, starts: IntArray | None = None) -> list[list[Hit]]:
        """Return at most k hits for each query (queries, dimensions), best first.

        By maxsim, `queries` are the rows of all, and `starts` the first row of each (queries,). A
        backend without maxsim refuses it when it opens a corpus.
        """


class Backend(Contract):
    """A file of backends/: where embeddings are searched."""

    @abstractmethod
    def open(self, corpus: EmbeddedCorpus, options: SearchOptions) -> Searcher:
        """Open a corpus for search. Errors: an option that the backend lacks."""


def check_options(options: SearchOptions, backend: str, *taken: str) -> None:
    """Raise for options that a backend does not take; `EmbeddedCorpus.read` applies filters."""
    known_flags = [flag(name) for name in (*taken, "filter")]
    if others := [name for name in flags_given(options, SearchOptions) if name not in known_flags]:
        problem = f"{flag('backend', backend)} takes no {', '.join(others)}"
        raise wrong_usage(problem, f"leave it out, or name another {flag('backend')}")


def check_similarity(options: SearchOptions, backend: str, corpus: Embeddings) -> None:
    """Raise for a similarity that a backend of inner products cannot rank by.

    The inner product of rows of length 1 is their cosine.
    """
    if options.similarity == "dot" or (options.similarity == "cosine" and corpus.is_unit):
        return
    raise UserError(
        f"{flag('backend', backend)} ranks by inner product, not by {options.similarity}",
        f"search with {flag('backend', 'exact')}; for cosine, encode with {flag('normalize')}",
    )


def row_record(corpus: Embeddings, row: int) -> Record:
    """Return the record of the row that found a hit: its id and kept fields."""
    return {"id": corpus.ids[row], **(corpus.fields[row] if corpus.fields else {})}


def best_of_documents(hits: list[Hit]) -> list[Hit]:
    """Return each document once, with its best row; ties by descending document id.

    >>> [hit[:2] for hit in best_of_documents([Hit("a", 2.0), Hit("b", 2.0), Hit("a", 1.0)])]
    [('b', 2.0), ('a', 2.0)]
    """
    best: dict[str, Hit] = {}
    for hit in hits:
        best.setdefault(hit.doc_id, hit)
    return sorted(best.values(), key=lambda hit: (hit.score, hit.doc_id), reverse=True)


def dense_rankings(
    searcher: Searcher,
    queries: Records,
    k: int,
    encoding: TextEncoding | None = None,
    similarity: str = "dot",
    note: Callable[[Record], Record] = lambda record: record,
) -> Iterator[Ranked]:
    """Yield the k best documents of each query.

    `encoding` encodes queries that are texts; `note` gets each of their records first. With maxsim,
    a query has several rows, one after the other.
    """
    summed = similarity == "maxsim"
    if queries.lines.files[0].endswith(MATRIX_ENDINGS):
        rows = _query_matrices(searcher, queries, summed=summed)
    elif encoding:
        rows = _query_texts(searcher, queries, encoding, note, summed=summed)
    else:
        rows = _query_records(searcher, queries, summed=summed)
    size = max(1, min(QUERIES_PER_BATCH, MAX_HELD_RESULTS // k))
    groups = groupby(rows, itemgetter(0)) if summed else ((row[0], [row]) for row in rows)
    embedded = ((name, [row for _, row in vectors_of_query]) for name, vectors_of_query in groups)
    seen = set[str]()
    while batch := list(islice(embedded, MAXSIM_QUERIES_PER_BATCH if summed else size)):
        ids = [name for name, _ in batch]
        for name in ids:
            add_new(name, seen)  # the rows of a query stand together
        vectors = np.stack([row for _, vectors_of_query in batch for row in vectors_of_query])
        if similarity == "cosine" and not are_unit(Matrix([vectors]), 1e-6):
            vectors = normalize_rows(vectors)
        ends = np.cumsum([len(vectors_of_query) for _, vectors_of_query in batch])
        starts = np.array([0, *ends[:-1]]) if summed else None
        try:
            # a backend that compares texts alone takes no starts
            hits = searcher.search(vectors, k, starts) if summed else searcher.search(vectors, k)
        except UserError as error:
            raise error.at(f'query "{ids[0]}"') from None
        yield from zip(ids, hits, strict=True)


def _query_records(searcher: Searcher, queries: Records, *, summed: bool) -> Iterator[QueryRow]:
    def parse(record: Record) -> QueryRow:
        name = document_id(record) if summed else record["id"]
        return name, np.frombuffer(vector(record, dimensions=searcher.dimensions), np.float32)

    return (row for _, row in parse_each(queries, parse))


def _query_matrices(searcher: Searcher, queries: Records, *, summed: bool) -> Iterator[QueryRow]:
    embeddings = read_embeddings(queries.lines.files)
    file = queries.lines.files[0]
    same_model(embeddings.model, searcher.model, file, "the corpus")
    _check_dimensions(embeddings.dimensions, searcher, file)
    names = embeddings.doc_ids if summed else embeddings.ids
    for first, block in row_blocks(embeddings.vectors):
        yield from zip(names[first : first + len(block)], block, strict=True)


def _query_texts(
    searcher: Searcher,
    queries: Records,
    encoding: TextEncoding,
    note: Callable[[Record], Record],
    *,
    summed: bool,
) -> Iterator[QueryRow]:
    same_model(encoding.meta()["model_sha256"], searcher.model, "a query", "the corpus")
    if searcher.cut:
        encoding.dimensions = encoding.dimensions or searcher.cut
    records = (record for _, record in parse_each(queries, note))
    try:
        for rows, vectors in encoding.embedded(records):
            _check_dimensions(vectors.shape[1], searcher, "the model")
            names = (row.document if summed else row.id for row in rows)
            yield from zip(names, vectors, strict=True)
    except UserError as error:
        raise queries.place(error) from None


def _check_dimensions(dimensions: int, searcher: Searcher, file: str) -> None:
    if dimensions != searcher.dimensions:
        remedy = "encode queries and documents with one model"
        if dimensions > searcher.dimensions:
            remedy += f", or cut both with {flag('dimensions', searcher.dimensions)}"
        problem = f"gives {dimensions} dimensions, and the corpus has {searcher.dimensions}"
        raise UserError(problem, remedy).at(file)
