"""Which field of a record is its text: one order, for every command that is not told a field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from structkit.errors import UserError
from structkit.records.jsonl import Record

# documents: training example, code, html-variants, any text, product, HTML under two names
DOCUMENT = ("positive", "code", "untagged", "text", "description", "html", "content")
# queries: training example or query, any text, code
QUERY = ("query", "text", "docstring")
# HTML as it came; StructDocRetrieval calls it content
HTML = ("html", "content")
# the field with the query of a document, where one record holds both
QUERY_OF: Mapping[str, str] = {
    "positive": "query",
    "code": "docstring",
    "description": "bullets",
    "html": "query",
    "content": "query",
}
# what `pair` makes a positive from: not from one that it made before
SOURCES = tuple(name for name in DOCUMENT if name != "positive")


def text_name(record: Record, names: Sequence[str], remedy: str) -> str:
    """The first of these fields that the record has; one that is null is the last choice.

    Errors: `UserError` where it has none of them.

    >>> text_name({"id": "1", "text": None, "html": "<p>x"}, DOCUMENT, "name one")
    'html'
    """
    there = [name for name in names if name in record]
    if not there:
        raise UserError(
            f"the record has none of the fields {', '.join(names)} (it has: {', '.join(record)})",
            remedy,
        )
    return next((name for name in there if record[name] is not None), there[0])
