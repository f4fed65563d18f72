"""Pyserini: a corpus of id and contents, and embeddings with their vectors."""

from __future__ import annotations

from structkit import plugin
from structkit.formats.interchange import (
    Options,
    Part,
    Parts,
    Row,
    take,
    take_id,
    take_numbers,
)
from structkit.records.fields import DOCUMENT
from structkit.records.jsonl import Record


class Format(plugin.Format):
    """Corpus and embeddings."""

    def parts(self, options: Options) -> Parts:
        return {
            "corpus": Part(("corpus.jsonl", "documents.jsonl"), read_document, write_document),
            "embeddings": Part(("embeddings.jsonl",), read_embedding, write_embedding),
        }


def read_document(row: Row) -> Record:
    """A document."""
    return {"id": take_id(row, "id"), "text": take(row, "contents"), **row}


def write_document(record: Record) -> Row:
    """A row; a title becomes the first line of the contents, as in Pyserini's own corpora."""
    identifier, title = take_id(record, "id"), take(record, "title", default="")
    text = take(record, *DOCUMENT)
    return {"id": identifier, "contents": f"{title}\n{text}" if title else text}


def read_embedding(row: Row) -> Record:
    """An embedding with its text, where there is one."""
    record = {"id": take_id(row, "id"), "embedding": take_numbers(row, "vector", "embedding")}
    text = take(row, "contents", default="")
    return record | ({"text": text} if text else {}) | row


def write_embedding(record: Record) -> Row:
    """A row of an index of vectors."""
    return {
        "id": take_id(record, "id"),
        "contents": take(record, *DOCUMENT, default=""),
        "vector": take_numbers(record, "embedding"),
    }
