"""What is read of documents and queries where their words are searched."""

from __future__ import annotations

from pathlib import PurePosixPath

from structkit.records.jsonl import Record, text_field
from structkit.records.texts import DOCUMENT, QUERY, text_name


def document_text(record: Record, field: str | None = None, *, paths: bool = False) -> str:
    """A document's text, its title before it; with `paths` also where it stands (`place_text`).

    >>> chunk = {"id": "1", "path": "src/net/retry.py", "scope": "class Retry", "code": "pass"}
    >>> document_text(chunk, paths=True)
    'pass src/net/retry.py retry class Retry'
    """
    if field is not None:
        text = text_field(record, field)
    else:
        field = text_name(record, DOCUMENT, "name one with --document-field")
        text = text_field(record, field)
        if field in ("text", "description") and isinstance(record.get("title"), str):
            text = f"{record['title']} {text}"
    place = place_text(record) if paths else ""
    return f"{text} {place}" if place else text


def place_text(record: Record) -> str:
    """What `collect` says of a text's place: its path, the file's name twice, scope and names."""
    path, scope, names = (record.get(field) for field in ("path", "scope", "names"))
    parts = [path, PurePosixPath(path).stem] if isinstance(path, str) else []
    if isinstance(scope, str):
        parts.append(scope)
    if isinstance(names, list):
        parts += [name for name in names if isinstance(name, str)]
    return " ".join(part for part in parts if part)


def query_text(record: Record, field: str | None = None) -> str:
    """A query's text."""
    return text_field(record, field or text_name(record, QUERY, "name one with --query-field"))
