"""Parts of texts that have an embedding each, and where they are: characters, lines, elements."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from structkit.errors import UserError
from structkit.records.jsonl import Record
from structkit.structure.html.html import Reader
from structkit.structure.html.xpaths import parts

EXCERPT = 200  # characters
# the fields of a part
FIELDS = {
    "chunk": ("start", "end", "lines"),
    "elements": ("xpath", "start", "end", "text"),
    "nodes": ("node", "span", "text"),
}


def chosen_part(flags: Mapping[str, Any], fields: Sequence[str], keep: Sequence[str]) -> str:
    """Which of the flags that make parts is set; an empty string if none is.

    Errors: two of them, several fields to read, and kept fields that a part has itself.
    """
    given = [name for name, value in flags.items() if value]
    if len(given) > 1:
        raise UserError(f"--{given[0]} and --{given[1]} exclude each other", "give one", status=2)
    if "embedding" in keep or given and "doc_id" in keep:
        name = "embedding" if "embedding" in keep else "doc_id"
        raise UserError(f"--keep {name}: encode writes it itself", "rename the field", status=2)
    for part in given:
        if len(fields) > 1:
            raise UserError(f"--{part} takes one --field", "run encode once per field", status=2)
        for name in FIELDS[part]:
            if name in keep:
                raise UserError(
                    f"--keep {name}: --{part} writes a field of that name", "rename it", status=2
                )
    return "".join(given)


class Elements:
    """HTML documents as the texts of their elements, with or without the tags inside."""

    def __init__(self, *, tagged: bool) -> None:
        self.tagged, self._reader = tagged, Reader()

    def of(self, html: str) -> tuple[list[str], list[Record]]:
        """What is read of each element, and its `xpath`, `start`, `end`, and `text`, cut short.

        Errors: a document without text.
        """
        texts, places = [], []
        for part in parts(html):
            document = self._reader.read(html[part.start : part.end])
            if document.text:
                texts.append(document.tagged if self.tagged else document.text)
                places.append(part._asdict() | {"text": excerpt(document.text)})
        if not texts:
            raise UserError("the document holds no text", "leave the record out")
        return texts, places


def excerpt(text: str) -> str:
    """The beginning of a text, for people.

    >>> excerpt("a b"), excerpt("word " * 100)[-10:], len(excerpt("word " * 100))
    ('a b', 'ord word …', 196)
    """
    if len(text) <= EXCERPT:
        return text
    return f"{text[: EXCERPT - 2].rpartition(' ')[0] or text[: EXCERPT - 2]} …"


def lines_of(text: str) -> Callable[[int, int], list[int]]:
    r"""A function from characters, `start` and `end`, to the first and last line, from 1.

    White space at either end does not count.

    >>> lines = lines_of("def f():\n    return 1\n\nf()\n")
    >>> lines(0, 8), lines(8, 22), lines(0, 27), lines(23, 24)
    ([1, 1], [2, 2], [1, 4], [4, 4])
    """
    ends = [place for place, sign in enumerate(text) if sign == "\n"]

    def lines(start: int, end: int) -> list[int]:
        piece = text[start:end]
        if piece and not piece.isspace():
            start, end = end - len(piece.lstrip()), start + len(piece.rstrip())
        return [bisect_left(ends, place) + 1 for place in (start, max(start, end - 1))]

    return lines
