"""What is read of documents and queries where their words are searched."""

from __future__ import annotations

from pathlib import PurePosixPath

from structkit.records.jsonl import Record, text_field
from structkit.records.texts import DOCUMENT, QUERY, text_name


def document_text(record: Record, field: str | None = None, *, paths: bool = False) -> str:
    """A document's text, its title before it; with `paths` also its path, the file's name twice.

    >>> document_text({"id": "1", "path": "src/net/retry.py", "code": "pass"}, paths=True)
    'pass src/net/retry.py retry'
    """
    path = record.get("path") if paths else None
    if field is not None:
        text = text_field(record, field)
    else:
        field = text_name(record, DOCUMENT, "name one with --document-field")
        text = text_field(record, field)
        if field in ("text", "description") and isinstance(record.get("title"), str):
            text = f"{record['title']} {text}"
    return f"{text} {path} {PurePosixPath(path).stem}" if isinstance(path, str) else text


def query_text(record: Record, field: str | None = None) -> str:
    """A query's text."""
    return text_field(record, field or text_name(record, QUERY, "name one with --query-field"))
