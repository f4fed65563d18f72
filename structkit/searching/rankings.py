"""The rankings of queries, found by embeddings, by words, or by both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from structkit.embeddings.reading import (
    MATRICES,
    matrix,
    read_embeddings,
    same_model,
    vector,
)
from structkit.embeddings.vectors import TextEncoding, Vectors, blocks
from structkit.errors import UserError, flag
from structkit.records.jsonl import Record, Records, add_new, parse_each
from structkit.records.texts import query_text
from structkit.scoring.runs import Hit
from structkit.searching.fusion import hybrid
from structkit.searching.hits import Searcher
from structkit.searching.options import DEPTH

if TYPE_CHECKING:
    from structkit.searching.bm25 import BM25

Ranked = tuple[str, list[Hit]]  # a query, and its hits, best first
Batch = tuple[list[str], Vectors]  # some queries, and their embeddings


def by_embeddings(
    searcher: Searcher, queries: Records, k: int, encoding: TextEncoding | None
) -> Iterator[Ranked]:
    """The k best documents of each query by inner product; `encoding` is of queries in texts."""
    if queries.lines.files[0].endswith(MATRICES):
        batches = _from_matrices(searcher, queries)
    elif encoding:
        batches = _from_texts(searcher, queries, queries, encoding)
    else:
        batches = _from_records(searcher, queries, searcher.batch(k))
    yield from _hits(searcher, batches, k)


def _hits(searcher: Searcher, batches: Iterator[Batch], k: int) -> Iterator[Ranked]:
    size = searcher.batch(k)
    for ids, vectors in batches:
        for first in range(0, len(ids), size):
            hits = searcher.search(vectors[first : first + size], k)
            yield from zip(ids[first : first + size], hits, strict=True)
    searcher.close()


def _from_records(searcher: Searcher, queries: Records, size: int) -> Iterator[Batch]:
    rows = parse_each(queries, lambda record: vector(record, dimensions=searcher.dimensions))
    while batch := list(islice(rows, size)):
        yield [query_id for query_id, _ in batch], matrix(row for _, row in batch)


def _from_matrices(searcher: Searcher, queries: Records) -> Iterator[Batch]:
    embeddings = read_embeddings(queries.lines.files)
    file = queries.lines.files[0]
    same_model(embeddings.model, searcher.model, file, "the corpus")
    _same_dimensions(embeddings.dimensions, searcher, file)
    for first, block in blocks(embeddings.vectors):
        yield embeddings.ids[first : first + len(block)], block


def _from_texts(
    searcher: Searcher, texts: Iterable[Record], queries: Records, encoding: TextEncoding
) -> Iterator[Batch]:
    same_model(encoding.meta()["model_sha256"], searcher.model, "the model", "the corpus")
    seen: set[str] = set()

    def distinct() -> Iterator[Record]:
        for record in texts:
            add_new(record["id"], seen)
            yield record

    try:
        for rows, vectors in encoding.embedded(distinct(), queries):
            _same_dimensions(vectors.shape[1], searcher, "the model")
            yield [row.id for row in rows], vectors
    except UserError as error:
        raise queries.place(error) from None


def _same_dimensions(dimensions: int, searcher: Searcher, file: str) -> None:
    if dimensions != searcher.dimensions:
        raise UserError(
            f"gives {dimensions} dimensions, and the corpus has {searcher.dimensions}",
            "encode queries and documents with one model",
        ).at(file)


def by_words(index: BM25, queries: Records, field: str | None, k: int) -> Iterator[Ranked]:
    """The k best documents of each query by BM25; `field` has its text."""
    for query_id, text in parse_each(queries, lambda record: query_text(record, field)):
        yield query_id, [Hit(*hit) for hit in index.search(text, k)]


def by_both(
    searcher: Searcher,
    index: BM25,
    queries: Records,
    k: int,
    encoding: TextEncoding,
    field: str | None,
    share: float,
    files: str,
) -> Iterator[Ranked]:
    """What words and embeddings find: at least `DEPTH` hits of each, for a reliable sum."""
    text_of: dict[str, str] = {}  # of the queries that are being encoded
    known = frozenset(index.doc_ids)

    def with_text() -> Iterator[Record]:
        for record in queries:
            text_of[record["id"]] = query_text(record, field)
            yield record

    depth = max(k, DEPTH)
    batches = _from_texts(searcher, with_text(), queries, encoding)
    for query_id, dense in _hits(searcher, batches, depth):
        if lost := [hit.doc_id for hit in dense if hit.doc_id not in known]:
            missing = f'document "{lost[0]}" has an embedding, but no text in '
            problem = missing + flag("texts")
            raise UserError(problem, "name the records that were encoded").at(files)
        lexical = [Hit(*hit) for hit in index.search(text_of.pop(query_id), depth)]
        yield query_id, hybrid(dense, lexical, k, share)
