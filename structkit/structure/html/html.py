"""The variants of HTML: structure tags without attributes, text alone, and elements masked."""

from __future__ import annotations

import random
from typing import NamedTuple

from structkit.structure.html.builder import Builder
from structkit.structure.html.elements import Element, mask, remask, untag
from structkit.structure.html.events import Events
from structkit.structure.html.tags import STRUCTURE

__all__ = ["Document", "Reader", "remask", "untag"]


class Document(NamedTuple):
    """Tags and texts of a document, the places of its elements among them, and its text."""

    tokens: list[str]
    elements: list[Element]
    text: str

    @property
    def tagged(self) -> str:
        """Structure tags without attributes, text with references for `&`, `<` and `>`."""
        return "".join(self.tokens)

    def masked(self, ratio: float, rng: random.Random, *, content: bool = False) -> str:
        """`tagged` without the tags of a share of the elements, or without these elements."""
        return mask(self.tokens, self.elements, ratio, rng, content=content)


class Reader:
    """Reads documents, one after the other.

    >>> reader = Reader()
    >>> reader.read("<ul><li class=x>a <b>c</b>d<li><li>e&amp;f<script>1<2</script></ul>").tagged
    '<ul><li>a cd</li><li>e&amp;f</li></ul>'
    """

    def __init__(self, keep: tuple[str, ...] = STRUCTURE, *, attributes: bool = False) -> None:
        self._events = Events(keep, attributes=attributes)

    def read(self, html: str) -> Document:
        """The document in a text, whatever encoding it declares."""
        builder = Builder()
        builder.build(self._events.of(html))
        return Document(builder.tokens, builder.elements, "".join(builder.texts)[1:])
