"""HTML to its variants: structure tags without attributes, the text alone, and elements masked.

The parser's events are taken as they come. A tree would end at a depth of 2,048, which is where
libxml2 stops to build one, and dropped what is deeper.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from structkit.structure.elements import Element, mask, remask, untag
from structkit.structure.events import closing, parse
from structkit.structure.sources import escape, with_attributes
from structkit.structure.tags import SEPARATORS, SILENT, STRUCTURE

__all__ = ["Document", "Reader", "remask", "untag"]

NOTHING = ("", "")  # a tag that is not written


class Document(NamedTuple):
    """Tags and texts of a document, where its elements stand among them, and its text."""

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

    def __init__(self, keep: Sequence[str] = STRUCTURE, *, attributes: bool = False) -> None:
        self._tags = {name: (name, f"<{name}>") for name in keep}
        self._ends = {name: f"</{name}>" for name in keep}
        self._closing = closing(keep)
        self._attributes = attributes

    def read(self, html: str) -> Document:
        """The document in a text, whatever it declares to be encoded in."""
        builder = _Builder(self._tags, self._ends, self._closing, self._attributes)
        document: Document = parse(html, builder)
        return document


class _Builder:
    """Makes tokens of a parser's events; its public methods are what lxml calls.

    A tag is written when text follows, so that blank elements leave nothing. `_space` is what
    separates the next text from the last one, `_fresh` whether a written block tag does.
    """

    def __init__(
        self,
        tags: Mapping[str, tuple[str, str]],
        ends: Mapping[str, str],
        closing: Mapping[str, frozenset[str]],
        attributes: bool,
    ) -> None:
        self._tags, self._ends = tags, ends
        self._closing, self._attributes = closing, attributes
        self._tokens: list[str] = []
        self._elements: list[Element] = []
        self._text: list[str] = []
        self._pending: list[tuple[str, str]] = []  # open, not written yet: name and tag
        self._near = 0  # blocks among these
        self._open: list[str] = []  # open and written
        self._starts: list[int] = []  # where their tags are
        self._direct = [False]  # whether they have text of their own
        self._frames: list[bool] = []  # of open elements that are not pending: is it written?
        self._space = ""
        self._fresh = True
        self._hidden = self._drawn = self._pre = 0
        self._behind_p = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element starts."""
        self._behind_p = False
        kept = self._tags.get(tag)
        if kept is None or self._hidden or self._drawn:
            self._other(tag, 1)
            return
        if self._attributes and attributes:
            kept = (tag, with_attributes(tag, attributes))
        self._pending.append(kept)
        if tag in SEPARATORS:
            self._near += 1
            if tag == "pre":
                self._pre += 1
                self._space = ""

    def end(self, tag: str) -> None:
        """An element ends, by its end tag or by what follows."""
        if tag not in self._tags or self._hidden or self._drawn:
            self._other(tag, -1)
            return
        if self._pending:
            self._pending.pop()
            self._near -= tag in SEPARATORS
            self._pre -= tag == "pre"
        elif self._frames.pop():
            self._close()
            return
        if tag in SEPARATORS:
            self._separate()

    def _other(self, tag: str, step: int) -> None:
        """A tag that is not kept starts (1) or ends (-1)."""
        if tag in SILENT or (self._drawn and tag == "title"):
            if self._hidden + min(step, 0) == 0 and tag in SEPARATORS:
                self._separate()
            self._hidden += step
        elif not self._hidden:
            self._drawn += step * (tag == "svg")
            if tag == "br" and self._pre:
                self._space += "\n" * (step > 0)
            elif tag in SEPARATORS:
                self._separate()

    def _separate(self) -> None:
        """Keep the next word from the last one."""
        self._space = self._space or " "

    def data(self, text: str) -> None:
        """Text, or a piece of it."""
        words = text.split()
        if self._hidden:
            return
        if self._pre:
            self._preformatted(text, words)
            return
        if not words:
            self._space = " "
            return
        line = " ".join(words)
        if line[0] != text[0]:
            self._space = " "
        self._write(line, line)
        self._space = " " if line[-1] != text[-1] else ""

    def _preformatted(self, text: str, words: list[str]) -> None:
        """Text whose blanks and line ends count."""
        if self._behind_p:
            text = text.removeprefix(" ")  # which is none of the document's
            self._behind_p = False
        text = text.replace("\r", "\n")
        inner = text.strip()
        start = text.index(inner) if inner else len(text)
        self._space += text[:start]
        if inner:
            self._write(inner, " ".join(words))
            self._space = text[start + len(inner) :]

    def _write(self, token: str, words: str) -> None:
        """Write the tags that are pending, and a text."""
        if self._near or self._fresh or self._space:
            words = " " + words
        if self._pending:
            self._write_tags()
        elif self._space:
            self._write_space()
        self._direct[-1] = True
        self._text.append(words)
        if "&" in token or "<" in token or ">" in token:
            token = escape(token)
        self._tokens.append(token)
        self._fresh = False

    def _write_tags(self) -> None:
        outer = self._open[-1] if self._open else ""
        for name, _ in self._pending:
            if outer and name in self._closing[outer]:
                self._close_outer()
                break
            outer = name
        if self._space and not self._near:
            self._write_space()
        for name, tag in self._pending:
            self._frames.append(name != "")
            if not name:
                continue
            self._open.append(name)
            self._starts.append(len(self._tokens))
            self._direct.append(False)
            self._tokens.append(tag)
            if name == "pre" and self._space:
                self._write_space()
        self._pending.clear()
        self._near = 0

    def _write_space(self) -> None:
        """Write what separates two texts, where no tag does."""
        if not self._pre:
            if not self._fresh:
                self._tokens.append(" ")
        elif self._open and self._open[-1] == "pre" and self._starts[-1] == len(self._tokens) - 1:
            # a line end at the start of <pre> is none of its text
            if space := self._space.lstrip("\n"):
                self._tokens.append(space)
        else:
            self._tokens.append(self._space)

    def _close_outer(self) -> None:
        """Close what the pending tags end, as nothing that is kept stands between any more."""
        found: list[tuple[str, str]] = []
        held: list[int] = []  # those of them that stay open
        for kept in self._pending:
            name = kept[0]
            while held and name in self._closing[found[held[-1]][0]]:
                self._pre -= found[held[-1]][0] == "pre"
                found[held.pop()] = NOTHING
                self._separate()
            while not held and self._open and name in self._closing[self._open[-1]]:
                written = len(self._frames) - 1
                while not self._frames[written]:
                    written -= 1
                self._frames[written] = False
                self._close()
            held.append(len(found))
            found.append(kept)
        self._pending = found
        self._near = sum(name in SEPARATORS for name, _ in found)

    def _close(self) -> None:
        """Write an end tag."""
        name = self._open.pop()
        start = self._starts.pop()
        if self._direct.pop():
            self._elements.append((start, len(self._tokens)))
        self._tokens.append(self._ends[name])
        self._behind_p = name == "p"
        if name in SEPARATORS:
            self._fresh = True
            self._space = ""
            self._pre -= name == "pre"

    def close(self) -> Document:
        """What lxml takes for the result."""
        return Document(self._tokens, self._elements, "".join(self._text)[1:])
