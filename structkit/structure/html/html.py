"""HTML to its variants: structure tags without attributes, the text alone, and elements masked."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from structkit.structure.html.elements import BLOCKS, Element, mask, remask, untag
from structkit.structure.html.events import (
    BREAK,
    CLOSE,
    DRAW,
    DRAWN,
    HIDE,
    OPEN,
    SHOW,
    Event,
    Events,
    Kept,
)
from structkit.structure.html.sources import escape
from structkit.structure.html.tags import STRUCTURE

__all__ = ["Document", "Reader", "remask", "untag"]


SPECIAL = ("pre", "title")


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

    def __init__(self, keep: tuple[str, ...] = STRUCTURE, *, attributes: bool = False) -> None:
        self._events = Events(keep, attributes=attributes)

    def read(self, html: str) -> Document:
        """The document in a text, whatever it declares to be encoded in."""
        return _Builder().build(self._events.of(html))


class _Builder:
    """Makes a document of a parser's events, in one pass.

    A start tag is written when text follows, so that blank elements leave nothing: until then it
    is `pending`. `space` is what separates the next text from the last one, `fresh` whether a
    block tag that is written does.
    """

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.elements: list[Element] = []
        self.pending: list[Event] = []
        # elements whose start tag is written: what they are, where, do they have text of their own
        self.stack: list[list[Any]] = [[None, 0, False]]
        self.texts: list[str] = []
        self.pre = self.drawings = 0  # depth of <pre> and <svg>

    def build(self, events: list[Any]) -> Document:
        """The document of some events."""
        tokens, pending, stack = self.tokens, self.pending, self.stack
        texts, elements = self.texts, self.elements
        space, fresh = "", True
        stream = iter(events)
        for event in stream:
            if event.__class__ is str:
                if self.pre:
                    space, fresh = self._preformatted(event, space, fresh)
                    continue
                words = event.split()
                if not words:
                    space = " "
                    continue
                line = " ".join(words)
                after = ""
                if len(line) != len(event):
                    space = space if line[0] == event[0] else " "
                    after = "" if line[-1] == event[-1] else " "
                if pending:
                    space, fresh = self._write_tags(space, fresh)
                elif space and not fresh:
                    tokens.append(" ")
                if space or fresh:
                    texts.append(" ")
                texts.append(line)
                if "&" in line or "<" in line or ">" in line:
                    line = escape(line)
                tokens.append(line)
                stack[-1][2] = True
                space, fresh = after, False
                continue
            code, kept, tag = event
            if code is OPEN:
                pending.append(event)
                if kept.name in SPECIAL:
                    space = self._special(stream, kept, space)
            elif code is CLOSE:
                if pending:
                    pending.pop()
                    if kept.block:
                        space = " "
                elif stack[-1][0] is kept:
                    _, start, direct = stack.pop()
                    if direct:
                        elements.append((start, len(tokens)))
                    tokens.append(tag)
                    if kept.block:
                        space, fresh = "", True
                else:  # it was ended by another one
                    space = " " if kept.block else space
                    continue
                self.pre -= kept.name == "pre"
            else:
                space = self._other(stream, event, space)
        while len(stack) > 1:
            self._close()
        return Document(tokens, elements, "".join(texts)[1:])

    def _special(self, stream: Iterator[Any], kept: Kept, space: str) -> str:
        """What separates behind the start of <pre> or <title>."""
        if kept.name == "pre":
            self.pre += 1
            return ""
        if self.drawings:  # the title of a drawing is not seen
            self.pending.pop()
            _skip(stream, (OPEN, CLOSE), kept)
        return space

    def _other(self, stream: Iterator[Any], event: Event, space: str) -> str:
        """What separates behind a tag that is not kept."""
        code, _, separator = event
        if code is BREAK and self.pre:
            return space + "\n"
        if code is HIDE:
            _skip(stream, (HIDE, SHOW))
        elif code is DRAW:
            self.drawings += 1
        elif code is DRAWN:
            self.drawings -= 1
        return space or separator

    def _preformatted(self, text: str, space: str, fresh: bool) -> tuple[str, bool]:
        """Write text whose blanks and line ends count; what separates the next one from it."""
        if not self.pending and not space and self.tokens and self.tokens[-1] == "</p>":
            text = text.removeprefix(" ")  # which is none of the document's
        text = text.replace("\r", "\n")
        line = text.strip()
        if not line:
            return space + text, fresh
        start = text.index(line)
        space += text[:start]
        if self.pending:
            space, fresh = self._write_tags(space, fresh)
        elif space:
            self.tokens.append(space)
        words = " ".join(line.split())
        if space or fresh:
            self.texts.append(" ")
        self.texts.append(words)
        self.tokens.append(escape(line))
        self.stack[-1][2] = True
        return text[start + len(line) :], False

    def _write_tags(self, space: str, fresh: bool) -> tuple[str, bool]:
        """Write the tags that are pending; what then separates the text from the last one."""
        tokens, stack, pending = self.tokens, self.stack, self.pending
        block = False
        outer = stack[-1][0]
        for _, kept, _ in pending:
            if outer is not None and outer.name in kept.closes:
                if self._close_outer():
                    space = space or " "
                    fresh = fresh or tokens[-1] in BLOCKS
                block = any(kept.block for _, kept, _ in pending)
                break
            block = block or kept.block
            outer = kept
        if space and not block and (self.pre or not fresh):
            tokens.append(space if self.pre else " ")
        # a line end at the start of <pre> is none of its text
        behind = space.lstrip("\n") if self.pre else ""
        inner = sum(kept.name == "pre" for _, kept, _ in pending) if behind else 0
        for _, kept, tag in pending:
            stack.append([kept, len(tokens), False])
            tokens.append(tag)
            if inner and kept.name == "pre":
                inner -= 1
                if not inner:
                    tokens.append(behind)
        pending.clear()
        return (" " if block else space), fresh

    def _close_outer(self) -> bool:
        """Close what the pending tags end, as nothing that is kept stands between any more.

        Returns whether a block was among it.
        """
        closed: list[bool] = []
        pending: list[Event] = []
        for event in self.pending:
            closes = event[1].closes
            while pending and pending[-1][1].name in closes:
                closed.append(pending.pop()[1].block)
            while not pending and (top := self.stack[-1][0]) and top.name in closes:
                closed.append(top.block)
                self._close()
            pending.append(event)
        self.pending[:] = pending
        if self.pre:
            kept = [top for top, _, _ in self.stack[1:]] + [held for _, held, _ in pending]
            self.pre = sum(each.name == "pre" for each in kept)
        return any(closed)

    def _close(self) -> None:
        """Write the end tag of the innermost element."""
        kept, start, direct = self.stack.pop()
        if direct:
            self.elements.append((start, len(self.tokens)))
        self.tokens.append(kept.end)


def _skip(stream: Iterator[Any], codes: tuple[int, int], kept: Kept | None = None) -> None:
    """Take the events of an element that is open, up to its end."""
    depth = 1
    for event in stream:
        if event.__class__ is not str and (kept is None or event[1] is kept):
            depth += (event[0] == codes[0]) - (event[0] == codes[1])
            if not depth:
                return
