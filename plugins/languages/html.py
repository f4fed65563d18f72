"""HTML: terms that the query, the title and the body of a document share."""

import re

from structkit import plugin
from structkit.errors import UserError
from structkit.records.jsonl import Record, text_field
from structkit.structure import Span
from structkit.structure.html.markup import element_content, tags, visible_text

from ._english import STOPWORDS

WORD = re.compile(r"\w+")


class Language(plugin.Language):
    """Every occurrence of a term that is in the query, in the title and in the body.

    A term is a whole word with a letter, and not a stopword; terms are compared case-folded. The
    title is the field `title`, or the content of <title>, or of <h1>. Tags, attributes, comments,
    scripts and styles are not text. Source: SEAL's baseline SANTA.

    >>> html = "<title>Tea</title><p class=tea>Green tea</p>"
    >>> [html[start:end] for start, end in Language().entities(html, {"query": "the tea"})]
    ['Tea', 'tea']
    """

    fields = ("html", "content")
    aliases = ("htm", "xhtml", "xhtml+xml")
    extensions = ("html", "htm", "xhtml", "xht")
    implied_by = ("html",)

    def entities(self, text: str, record: Record) -> list[Span]:
        """Return every occurrence of a shared term."""
        query = text_field(
            record, "query", "entities of HTML are terms that also occur in its query"
        )
        plain = visible_text(text)
        title, (start, end) = _title(record, text, plain)
        body = plain[:start] + " " + plain[end:]
        shared = terms(query) & terms(title) & terms(body)
        return [match.span() for match in WORD.finditer(plain) if match[0].casefold() in shared]


def terms(text: str) -> set[str]:
    """Return the words of a text, case-folded, without stopwords and numbers.

    >>> sorted(terms("The Tea of 1984"))
    ['tea']
    """
    words = {word.casefold() for word in WORD.findall(text)}
    return {word for word in words if word not in STOPWORDS and any(map(str.isalpha, word))}


def _title(record: Record, text: str, plain: str) -> tuple[str, Span]:
    """Return the title, and where the text repeats it before its body."""
    if record.get("title") is not None:
        return text_field(record, "title"), element_content(tags(text), "title") or (0, 0)
    for name in ("title", "h1"):
        if (span := element_content(tags(text), name)) and plain[span[0] : span[1]].strip():
            return plain[span[0] : span[1]], span
    raise UserError(
        "the document has no title: no field `title`, no <title> and no <h1>",
        'add a field "title"',
    )
