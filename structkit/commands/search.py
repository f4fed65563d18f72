"""Find the documents of a corpus that answer each query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from structkit.errors import UserError, unknown
from structkit.jsonl import Record, Records, text_field
from structkit.progress import say
from structkit.retrieval.bm25 import BM25
from structkit.retrieval.embeddings import identified, matrix, read_embeddings, vector
from structkit.retrieval.index import Index
from structkit.retrieval.runs import run_records

DOCUMENT_FIELDS = ("positive", "code", "untagged", "text", "description")
QUERY_FIELDS = ("query", "text", "docstring")


def search(
    corpus: Sequence[str],
    queries: Records,
    *,
    k: int = 100,
    method: str = "dense",
    document_field: str | None = None,
    query_field: str | None = None,
    exclude_self: bool = False,
    k1: float = 1.5,
    b: float = 0.75,
    stopwords: bool = True,
) -> Iterator[Record]:
    """Run records: the k best documents of each query, best first, queries in input order.

    With `dense`, corpus files and queries hold embeddings, and the score is their inner product.
    With `bm25` they hold texts: a document's is the first of DOCUMENT_FIELDS that it has (a
    `title` goes before `text` and `description`), a query's the first of QUERY_FIELDS. Equal
    scores are ordered by descending document id. `exclude_self` leaves the document out that has
    the query's own id. Repeated ids raise.
    """
    if k < 1:
        raise UserError(f"--k {k} is less than 1", "the default is 100", status=2)
    depth = k + exclude_self
    if method == "dense":
        found = _dense(corpus, queries, depth)
    elif method == "bm25":
        index = _bm25(corpus, document_field, k1=k1, b=b, stopwords=stopwords)
        found = _lexical(index, queries, query_field, depth)
    else:
        raise unknown("search method", method, ("bm25", "dense"))
    for query_id, ranked in found:
        if exclude_self:
            ranked = [(doc_id, score) for doc_id, score in ranked if doc_id != query_id][:k]
        yield from run_records(query_id, ranked)
    if not queries.count:
        say(f"{queries.lines.file} holds no queries; the run is empty")


Ranked = tuple[str, list[tuple[str, float]]]


def _dense(corpus: Sequence[str], queries: Records, k: int) -> Iterator[Ranked]:
    embeddings = read_embeddings(corpus)
    index = Index(embeddings)
    rows = identified(queries, lambda record: vector(record, embeddings.dimensions))
    while batch := list(islice(rows, index.batch(k))):
        scores, documents = index.search(matrix(row for _, row in batch), k)
        for number, (query_id, _) in enumerate(batch):
            ranked = zip(documents[number].tolist(), scores[number].tolist(), strict=True)
            yield query_id, [(index.doc_ids[document], score) for document, score in ranked]


def _lexical(index: BM25, queries: Records, field: str | None, k: int) -> Iterator[Ranked]:
    for query_id, text in identified(queries, lambda record: _query(record, field)):
        yield query_id, index.search(text, k)


def _bm25(
    corpus: Sequence[str], field: str | None, *, k1: float, b: float, stopwords: bool
) -> BM25:
    records = Records.read(corpus)
    doc_ids: list[str] = []

    def texts() -> Iterator[str]:
        for doc_id, text in identified(records, lambda record: _document(record, field)):
            doc_ids.append(doc_id)
            yield text

    try:
        return BM25(doc_ids, texts(), k1=k1, b=b, stopwords=stopwords)
    except UserError as error:
        raise error.at(records.lines.file) from None


def _document(record: Record, field: str | None) -> str:
    if field is not None:
        return text_field(record, field)
    field = next((name for name in DOCUMENT_FIELDS if name in record), None)
    if field is None:
        raise _no_text(record, DOCUMENT_FIELDS, "--document-field")
    text = text_field(record, field)
    titled = field in ("text", "description") and isinstance(record.get("title"), str)
    return f"{record['title']} {text}" if titled else text


def _query(record: Record, field: str | None) -> str:
    if field is None:
        field = next((name for name in QUERY_FIELDS if name in record), None)
    if field is None:
        raise _no_text(record, QUERY_FIELDS, "--query-field")
    return text_field(record, field)


def _no_text(record: Record, fields: Sequence[str], flag: str) -> UserError:
    return UserError(
        f"none of the fields {', '.join(fields)} is there",
        f"name one with {flag}; the record has: {', '.join(record)}",
    )
