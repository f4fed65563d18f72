"""Which field of a record is its text: one order, for every command that is not told a field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from structkit.errors import UserError
from structkit.records.jsonl import Record

# documents: of a training example, code, html-variants, any text, a product, HTML twice
DOCUMENT = ("positive", "code", "untagged", "text", "description", "html", "content")
# queries: of an example or of its own, any text, of code
QUERY = ("query", "text", "docstring")
# HTML as it came; StructDocRetrieval calls it content
HTML = ("html", "content")
# the field that asks for a document, where one record holds both
QUERY_OF: Mapping[str, str] = {
    "positive": "query",
    "code": "docstring",
    "description": "bullets",
    "html": "query",
    "content": "query",
}
# what `pair` makes a positive of: not of one that it made before
SOURCES = tuple(name for name in DOCUMENT if name != "positive")


def text_name(record: Record, names: Sequence[str], remedy: str) -> str:
    """The first of the names under which the record has something; null is the last choice.

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
