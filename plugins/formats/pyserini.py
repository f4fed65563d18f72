"""Pyserini: a corpus of id and contents, and embeddings with their vectors."""

from structkit import plugin
from structkit.formats.interchange import Fields, Part, Parts, Row
from structkit.records.fields import DOCUMENT_FIELDS
from structkit.records.jsonl import Record


class Format(plugin.Format):
    """Corpus and embeddings."""

    def parts(self, split: str) -> Parts:
        return {
            "corpus": Part(("corpus.jsonl", "documents.jsonl"), read_document, write_document),
            "embeddings": Part(("embeddings.jsonl",), read_embedding, write_embedding),
        }


def read_document(row: Fields) -> Record:
    """Return a document."""
    return {"id": row.pop_text("id"), "text": row.pop_field("contents"), **row}


def write_document(record: Fields) -> Row:
    """Return a row; a title is the first line of the contents, as in Pyserini's corpora."""
    identifier, title = record.pop_text("id"), record.pop_field("title", default="")
    text = record.pop_field(*DOCUMENT_FIELDS)
    return {"id": identifier, "contents": f"{title}\n{text}" if title else text}


def read_embedding(row: Fields) -> Record:
    """Return an embedding with its text, if there is one."""
    record = {
        "id": row.pop_text("id"),
        "embedding": row.pop_field("vector", "embedding", kind=list),
    }
    text = row.pop_field("contents", default="")
    return record | ({"text": text} if text else {}) | row


def write_embedding(record: Fields) -> Row:
    """Return a row of an index of vectors."""
    return {
        "id": record.pop_text("id"),
        "contents": record.pop_field(*DOCUMENT_FIELDS, default=""),
        "vector": record.pop_field("embedding", kind=list),
    }
