"""Definition lists of HTML: where each term is explained, as options are in manual pages.

Tests: tests/collecting/test_units.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from structkit.structure.html.markup import HEADING, Tag

DEEPEST = 2  # lists in lists: methods of a class, but not their parameters


@dataclass
class GlossaryEntry:
    """Terms and their explanation: the number of its first tag, its places.

    `explained` is where the explanation starts; it is `end` if there is none.
    """

    number: int
    start: int
    end: int
    explained: int
    inner: list[GlossaryEntry] = field(default_factory=list)


def definitions(tags: Sequence[Tag], length: int) -> list[GlossaryEntry]:
    """Return the definitions of a document in order; a heading ends them.

    >>> from structkit.structure.html.markup import tags
    >>> page = "<dl><dt>-v<dt>--verbose<dd>Say more.<dt>-q<dd>Say less.</dl>"
    >>> [page[each.start : each.explained] for each in definitions(list(tags(page)), len(page))]
    ['<dt>-v<dt>--verbose', '<dt>-q']
    """
    found: list[GlossaryEntry] = []
    lists: list[GlossaryEntry | None] = []  # the open ones, and the last definition of each
    for number, tag in enumerate(tags):
        last = lists[-1] if lists else None
        if tag.name == "dl":
            lists.append(None)
        elif tag.name == "/dl" and lists:
            _end(lists.pop(), tag.end)
        elif HEADING.fullmatch(tag.name):
            for each in lists:
                _end(each, tag.start)
            lists.clear()
        elif tag.name == "dd" and last and last.explained == length:
            last.explained = tag.start
        elif tag.name == "dt" and 0 < len(lists) <= DEEPEST:
            if last and last.explained == length:
                continue  # another term of the same
            _end(last, tag.start)
            lists[-1] = new = GlossaryEntry(number, tag.start, length, length)
            outer = lists[-2] if len(lists) > 1 else None
            (outer.inner if outer else found).append(new)
    return found


def _end(definition: GlossaryEntry | None, at: int) -> None:
    if definition:
        definition.end = at
        definition.explained = min(definition.explained, at)
