"""Pyserini: a corpus of id and contents, and embeddings with their vectors."""

from __future__ import annotations

from structkit import plugin
from structkit.formats.interchange import Fields, Part, Parts, Row
from structkit.records.fields import DOCUMENT
from structkit.records.jsonl import Record


class Format(plugin.Format):
    """Corpus and embeddings."""

    def parts(self, split: str) -> Parts:
        return {
            "corpus": Part(("corpus.jsonl", "documents.jsonl"), read_document, write_document),
            "embeddings": Part(("embeddings.jsonl",), read_embedding, write_embedding),
        }


def read_document(row: Fields) -> Record:
    """A document."""
    return {"id": row.take_id("id"), "text": row.take("contents"), **row}


def write_document(record: Fields) -> Row:
    """A row; a title becomes the first line of the contents, as in Pyserini's own corpora."""
    identifier, title = record.take_id("id"), record.take("title", default="")
    text = record.take(*DOCUMENT)
    return {"id": identifier, "contents": f"{title}\n{text}" if title else text}


def read_embedding(row: Fields) -> Record:
    """An embedding with its text, where there is one."""
    record = {"id": row.take_id("id"), "embedding": row.take("vector", "embedding", kind=list)}
    text = row.take("contents", default="")
    return record | ({"text": text} if text else {}) | row


def write_embedding(record: Fields) -> Row:
    """A row of an index of vectors."""
    return {
        "id": record.take_id("id"),
        "contents": record.take(*DOCUMENT, default=""),
        "vector": record.take("embedding", kind=list),
    }
