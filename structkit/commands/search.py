"""Find the documents of a corpus that answer each query."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from structkit import registry
from structkit.embeddings.matrices import add_new
from structkit.embeddings.reading import (
    MATRICES,
    identified,
    matrix,
    read_embeddings,
    same_model,
    vector,
)
from structkit.embeddings.rows import TextEncoding
from structkit.embeddings.vectors import Vectors, blocks
from structkit.errors import UserError, unknown
from structkit.plugin import flag_of
from structkit.progress import say
from structkit.records.jsonl import Record, Records, shown
from structkit.records.texts import query_text
from structkit.scoring.runs import Hit, run_records
from structkit.searching.bm25_folder import method_of
from structkit.searching.fusion import SHARE, hybrid
from structkit.searching.hits import Searcher, SearchOptions
from structkit.searching.lexical import lexical_index

if TYPE_CHECKING:
    from structkit.searching.bm25 import BM25

METHODS = ("bm25", "dense", "hybrid")
DEPTH = 100  # fewest documents of each ranking to fuse


def search(
    corpus: Sequence[str],
    queries: Records,
    *,
    k: int = 100,
    method: str | None = None,
    backend: str | None = None,
    options: SearchOptions | None = None,
    encoding: TextEncoding | None = None,
    document_field: str | None = None,
    query_field: str | None = None,
    exclude_self: bool = False,
    k1: float | None = None,
    b: float | None = None,
    stopwords: bool | None = None,
    texts: Sequence[str] | None = None,
    paths: bool | None = None,
    dense_share: float = SHARE,
) -> Iterator[Record]:
    """Run records: the k best documents of each query, best first, queries in input order.

    `method` is by default `dense`, or `bm25` where the corpus is a folder that it saved. With
    `dense`, corpus files and queries hold embeddings (or the queries texts, which `encoding`
    encodes), and the score is their inner product; `backend` is the plugin that searches, by
    default `exact`, or `approximate` where `options` ask for an index. With `bm25` both hold texts,
    of a document `texts.document_text`, with `document_field` and `paths`, of a query the first of
    `texts.QUERY`; `k1`, `b` and `stopwords` have the defaults of `BM25`. `hybrid` does both: the
    files `texts` hold the texts of the corpus, and scores are scaled to 0 … 1 and summed, those of
    embeddings weighted by `dense_share`, those of words by the rest. Equal scores are ordered by
    descending document id. `exclude_self` leaves out the query's own id. Repeated ids raise.
    """
    method = method_of(corpus, method)
    if k < 1:
        raise UserError(f"--k {k} is less than 1", "the default is 100", status=2)
    depth, options = k + exclude_self, options or SearchOptions()
    reading = {"document_field": document_field, "paths": paths}
    words = {"k1": k1, "b": b, "stopwords": stopwords, **reading}
    _check_words(method, texts, words)
    if method == "dense":
        rankings = _dense(opened(corpus, backend, options), queries, depth, encoding)
    elif method == "bm25":
        _check_bm25(options, backend, encoding)
        index = lexical_index(corpus, words, save_index=options.save_index)
        rankings = _lexical(index, queries, query_field, depth)
    elif method == "hybrid":
        model = _checked_hybrid(texts, encoding, options)
        searcher = opened(corpus, backend, options)
        index = lexical_index(texts or (), words)
        files = ", ".join(map(shown, [*corpus, *(texts or ())]))
        rankings = _hybrid(searcher, index, queries, depth, model, query_field, dense_share, files)
    else:
        raise unknown("search method", method, METHODS)
    query_id = None
    for query_id, ranked in rankings:
        if exclude_self:
            ranked = [hit for hit in ranked if hit.doc_id != query_id][:k]
        yield from run_records(query_id, ranked)
    if query_id is None:
        say(f"{queries.lines.file} holds no queries; the run is empty")


def _check_words(method: str, texts: Sequence[str] | None, words: Mapping[str, object]) -> None:
    """Raise for flags of words, where none are searched."""
    if texts and method != "hybrid":
        remedy = "leave it out, or ask with --query"
        raise UserError("--texts goes with --method hybrid", remedy, status=2)
    given = [flag_of(name) for name, value in words.items() if value is not None]
    if given and method == "dense":
        raise UserError(
            f"embeddings are searched, not words: they take no {', '.join(given)}",
            "leave it out, or search with --method bm25 or hybrid",
            status=2,
        )


def _check_bm25(options: SearchOptions, backend: str | None, encoding: TextEncoding | None) -> None:
    given = options.given() + ["--backend"] * bool(backend) + ["--model"] * bool(encoding)
    if given := [flag for flag in given if flag != "--save-index"]:
        raise UserError(
            f"--method bm25 searches no embeddings: it takes no {', '.join(given)}",
            "leave it out",
            status=2,
        )


def _checked_hybrid(
    texts: Sequence[str] | None, encoding: TextEncoding | None, options: SearchOptions
) -> TextEncoding:
    if not texts or not encoding:
        raise UserError(
            f"--method hybrid needs {'--model' if texts else '--texts'}",
            "CORPUS holds embeddings, --texts their records, --model encodes the queries",
            status=2,
        )
    if options.filters:
        raise UserError(
            "--method hybrid takes no --filter",
            "choose records with structkit select before encode",
            status=2,
        )
    return encoding


Ranked = tuple[str, list[Hit]]


def opened(corpus: Sequence[str], backend: str | None, options: SearchOptions) -> Searcher:
    """The corpus, opened by its backend."""
    if options.rescore:
        backend = backend or "codes"
        if backend != "codes":
            raise UserError(
                f"--rescore goes with --backend codes, not {backend}", "leave one out", status=2
            )
    if backend is None:
        indexed = options.index != "flat" or (len(corpus) == 1 and os.path.isdir(corpus[0]))
        backend = "approximate" if indexed else "exact"
    return registry.load("backend", backend)().opened(corpus, options)


def _dense(
    searcher: Searcher, queries: Records, k: int, encoding: TextEncoding | None
) -> Iterator[Ranked]:
    if queries.lines.files[0].endswith(MATRICES):
        batches = _mapped(searcher, queries.lines.files)
    elif encoding:
        batches = _encoded(searcher, queries, queries, encoding)
    else:
        batches = _embedded(searcher, queries, searcher.batch(k))
    yield from _answers(searcher, batches, k)


def _answers(searcher: Searcher, batches: Iterator[Batch], k: int) -> Iterator[Ranked]:
    size = searcher.batch(k)
    for ids, vectors in batches:
        for first in range(0, len(ids), size):
            hits = searcher.search(vectors[first : first + size], k)
            yield from zip(ids[first : first + size], hits, strict=True)
    searcher.close()


Batch = tuple[list[str], Vectors]


def _embedded(searcher: Searcher, queries: Records, size: int) -> Iterator[Batch]:
    """Queries that are embeddings already."""
    rows = identified(queries, lambda record: vector(record, searcher.dimensions))
    while batch := list(islice(rows, size)):
        yield [query_id for query_id, _ in batch], matrix(row for _, row in batch)


def _mapped(searcher: Searcher, files: Sequence[str]) -> Iterator[Batch]:
    """Queries in files of matrices."""
    embeddings = read_embeddings(files)
    same_model(embeddings.model, searcher.model, files[0], "the corpus")
    _same_dimensions(embeddings.dimensions, searcher, files[0])
    for first, block in blocks(embeddings.vectors):
        yield embeddings.ids[first : first + len(block)], block


def _encoded(
    searcher: Searcher, texts: Iterable[Record], queries: Records, encoding: TextEncoding
) -> Iterator[Batch]:
    """Queries that are texts."""
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


def _lexical(index: BM25, queries: Records, field: str | None, k: int) -> Iterator[Ranked]:
    for query_id, text in identified(queries, lambda record: query_text(record, field)):
        yield query_id, [Hit(*hit) for hit in index.search(text, k)]


def _hybrid(
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
    asked: dict[str, str] = {}  # the queries that are being encoded
    known = frozenset(index.doc_ids)

    def noted() -> Iterator[Record]:
        for record in queries:
            asked[record["id"]] = query_text(record, field)
            yield record

    depth = max(k, DEPTH)
    batches = _encoded(searcher, noted(), queries, encoding)
    for query_id, dense in _answers(searcher, batches, depth):
        if lost := [hit.doc_id for hit in dense if hit.doc_id not in known]:
            raise UserError(
                f'document "{lost[0]}" has an embedding, but no text in --texts',
                "name the records that were encoded",
            ).at(files)
        lexical = [Hit(*hit) for hit in index.search(asked.pop(query_id), depth)]
        yield query_id, hybrid(dense, lexical, k, share)
