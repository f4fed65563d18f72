"""BEIR: a folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv."""

from __future__ import annotations

from structkit import plugin
from structkit.formats.interchange import (
    Options,
    Part,
    Parts,
    Row,
    move,
    take,
    take_id,
    take_whole,
)
from structkit.records.fields import DOCUMENT, QUERY
from structkit.records.jsonl import Record

QRELS = {"query-id": "string", "corpus-id": "string", "score": "int64"}


class Format(plugin.Format):
    """Corpus, queries and judgements of a split."""

    def parts(self, options: Options) -> Parts:
        return {
            "corpus": Part(("corpus.jsonl",), read_document, write_document),
            "queries": Part(("queries.jsonl",), read_query, write_query),
            "qrels": Part(
                (f"qrels/{options.split}.tsv",), read_judgement, write_judgement, "tab", QRELS
            ),
        }


def read_document(row: Row) -> Record:
    """A document; an empty title is dropped."""
    title = take(row, "title", default="")
    text = take(row, "text")
    named = {"title": title} if title else {}
    return {**move(row, {"id": "id"}), **named, "text": text, **row}


def write_document(record: Record) -> Row:
    """A row of the corpus; the text is from any of the fields for documents."""
    row = {"_id": take_id(record, "id"), "title": take(record, "title", default="")}
    return row | {"text": take(record, *DOCUMENT)} | metadata(record)


def read_query(row: Row) -> Record:
    """A query."""
    query = take(row, "text")
    return {**move(row, {"id": "id"}), "query": query, **row}


def write_query(record: Record) -> Row:
    """A row of the queries."""
    return {"_id": take_id(record, "id"), "text": take(record, *QUERY)} | metadata(record)


def metadata(record: Record) -> Row:
    """The metadata that BEIR keeps with a text."""
    kept = take(record, "metadata", kind=dict, default=None)
    return {} if kept is None else {"metadata": kept}


def read_judgement(row: Row) -> Record:
    """A judgement."""
    return {
        "query_id": take(row, "query-id"),
        "doc_id": take(row, "corpus-id"),
        "relevance": take_whole(row, "score"),
        **row,
    }


def write_judgement(record: Record) -> Row:
    """A row of the qrels."""
    return {
        "query-id": take_id(record, "query_id"),
        "corpus-id": take_id(record, "doc_id"),
        "score": take_whole(record, "relevance"),
    }
