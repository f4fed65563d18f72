"""BEIR: a folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv."""

from __future__ import annotations

from structkit import plugin
from structkit.formats.interchange import Fields, Part, Parts, Row
from structkit.records.fields import DOCUMENT, QUERY
from structkit.records.jsonl import Record

QRELS = {"query-id": "string", "corpus-id": "string", "score": "int64"}


class Format(plugin.Format):
    """Corpus, queries and judgements of a split."""

    def parts(self, split: str) -> Parts:
        return {
            "corpus": Part(("corpus.jsonl",), read_document, write_document),
            "queries": Part(("queries.jsonl",), read_query, write_query),
            "qrels": Part((f"qrels/{split}.tsv",), read_judgement, write_judgement, "tab", QRELS),
        }


def read_document(row: Fields) -> Record:
    """A document; an empty title is dropped."""
    title = row.take("title", default="")
    text = row.take("text")
    named = {"title": title} if title else {}
    return {**row.move({"id": "id"}), **named, "text": text, **row}


def write_document(record: Fields) -> Row:
    """A row of the corpus; the text is from any of the fields for documents."""
    row = {"_id": record.take_id("id"), "title": record.take("title", default="")}
    return row | {"text": record.take(*DOCUMENT)} | metadata(record)


def read_query(row: Fields) -> Record:
    """A query."""
    query = row.take("text")
    return {**row.move({"id": "id"}), "query": query, **row}


def write_query(record: Fields) -> Row:
    """A row of the queries."""
    return {"_id": record.take_id("id"), "text": record.take(*QUERY)} | metadata(record)


def metadata(record: Fields) -> Row:
    """The metadata that BEIR keeps with a text."""
    kept = record.take("metadata", kind=dict, default=None)
    return {} if kept is None else {"metadata": kept}


def read_judgement(row: Fields) -> Record:
    """A judgement."""
    return {
        "query_id": row.take("query-id"),
        "doc_id": row.take("corpus-id"),
        "relevance": row.take_whole("score"),
        **row,
    }


def write_judgement(record: Fields) -> Row:
    """A row of the qrels."""
    return {
        "query-id": record.take_id("query_id"),
        "corpus-id": record.take_id("doc_id"),
        "score": record.take_whole("relevance"),
    }
