"""HTML to variants: structure tags without attributes, text alone, elements to mask.

The events of a parser, relevant texts and tags, become a document in one pass. No tree is built:
libxml2's are at most 2,048 deep and lose deeper nodes.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

from lxml import etree

from structkit.structure.html import elements
from structkit.structure.html.elements import BLOCK_TAGS, Element
from structkit.structure.html.markup import WORD_BREAK, escape, repair
from structkit.structure.html.tags import (
    ENDED_BY_START,
    SEPARATING_ELEMENTS,
    SILENT_ELEMENTS,
    STRUCTURE,
    is_aria_hidden,
)

TABLE_CONTAINERS = frozenset(("table", "tbody", "tfoot", "thead", "tr"))  # elements without text
# without it the parser puts a paragraph around text, and reads XHTML by other rules
DOCUMENT_PREFIX = b"<html><body>"


class Document(NamedTuple):
    """Tags and texts of a document, the places of its elements among them, and its text."""

    tokens: list[str]
    elements: list[Element]
    text: str

    @property
    def tagged(self) -> str:
        """Structure tags without attributes, text with references for `&`, `<` and `>`."""
        return "".join(self.tokens)

    def mask(self, ratio: float, rng: random.Random, *, content: bool = False) -> str:
        """Return `tagged` without a share of the elements, or without their tags."""
        return elements.mask_elements(self.tokens, self.elements, ratio, rng, content=content)


@dataclass(frozen=True, slots=True)
class TagKind:
    """A kind of tag that the variants keep; without a name, all others."""

    name: str = ""
    end_tag: str = ""
    block: bool = False
    closes: frozenset[str] = frozenset()  # elements that its start tag ends: they cannot hold it
    unclosed: frozenset[str] = frozenset()  # those of them that the parser leaves open


# the effects of a tag
(
    START_KEPT,
    END_KEPT,
    SEPARATE,  # words
    BREAK_LINE,
    START_SILENT,  # an element that shows nothing
    END_SILENT,
    START_DRAWING,
    END_DRAWING,
    END_AND_START,  # end what the parser leaves open, and start a kept element
    END_AND_SEPARATE,  # … and separate words
) = range(10)
OTHER_TAG = TagKind()
# effect and kind of a tag, and the tag or the separator to write; the events of texts are `str`
Event = tuple[int, TagKind, str]


class Reader:
    """Reads documents, one after the other.

    >>> reader = Reader()
    >>> reader.read("<ul><li class=x>a <b>c</b>d<li><li>e&amp;f<script>1<2</script></ul>").tagged
    '<ul><li>a cd</li><li>e&amp;f</li></ul>'
    """

    def __init__(self, keep: tuple[str, ...] = STRUCTURE) -> None:
        starts, ends = events_of(keep)
        self._events: list[Any] = []
        self._target = _target(self._events.append, starts.get, ends.get)

    def read(self, html: str) -> Document:
        """Read the document in a text, whatever encoding it declares."""
        self._events.clear()
        parse_html(html, self._target)
        builder = Builder()
        builder.build(self._events)
        text = "".join(builder.texts)[1:]  # without the space before the first one
        return Document(builder.tokens, builder.elements, text)


def _target(
    add: Callable[[Any], None],
    start_of: Callable[[str], Event | None],
    end_of: Callable[[str], Event | None],
) -> SimpleNamespace:
    """Return a target of lxml's parser; functions in a closure are its fastest way to Python."""
    before = ""  # the name of the start tag before, unless an end tag came since
    hidden_depth = 0  # how many elements are open, from a hidden one inward

    def start(name: str, attributes: Mapping[str, str]) -> None:
        nonlocal before, hidden_depth
        if hidden_depth:
            hidden_depth += 1
        elif "aria-hidden" in attributes and is_aria_hidden(name, attributes, before):
            hidden_depth = 1
            add((START_SILENT, OTHER_TAG, ""))
        elif (event := start_of(name)) is not None:
            add(event)
        before = name

    def end(name: str) -> None:
        nonlocal before, hidden_depth
        before = ""
        if hidden_depth:
            hidden_depth -= 1
            if not hidden_depth:
                add((END_SILENT, OTHER_TAG, ""))
        elif (event := end_of(name)) is not None:
            add(event)

    return SimpleNamespace(start=start, end=end, data=add, close=lambda: None)


def parse_html(html: str, target: Any = None) -> Any:
    """Return a text's tree, or what a target makes of it, whatever encoding the text declares."""
    parser = etree.HTMLParser(target=target, huge_tree=True, encoding="utf-8")
    # UTF-8 cannot hold half of a surrogate pair
    return etree.fromstring(DOCUMENT_PREFIX + repair(html).encode("utf-8", "replace"), parser)


@cache  # few sets of tags occur, and a small page would take longer
def events_of(keep: tuple[str, ...]) -> tuple[dict[str, Event], dict[str, Event]]:
    """Return the events of start tags and of end tags, by name, for the kept tags."""
    starts: dict[str, Event] = {}
    ends: dict[str, Event] = {}
    for name in SEPARATING_ELEMENTS:
        starts[name] = ends[name] = SEPARATE, OTHER_TAG, " "
    for name in SILENT_ELEMENTS:
        starts[name] = START_SILENT, OTHER_TAG, (" " if name in SEPARATING_ELEMENTS else "")
        ends[name] = END_SILENT, OTHER_TAG, ""
    for name, unclosed in left_open().items():
        starts[name] = END_AND_SEPARATE, TagKind(unclosed=unclosed), " "
    starts["br"] = BREAK_LINE, OTHER_TAG, " "
    starts["svg"] = START_DRAWING, OTHER_TAG, " "
    ends["svg"] = END_DRAWING, OTHER_TAG, " "
    for name, closes in closed_by(keep, keep).items():
        unclosed = left_open().get(name, frozenset())
        kind = TagKind(name, f"</{name}>", name in SEPARATING_ELEMENTS, closes | unclosed, unclosed)
        starts[name] = (END_AND_START if unclosed else START_KEPT), kind, f"<{name}>"
        ends[name] = END_KEPT, kind, kind.end_tag
    return starts, ends


@cache
def closed_by(names: tuple[str, ...], outer: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """Return for each tag the outer ones that its start tag ends.

    A document that obeys these rules is read as it was written. They differ by the parser's
    version, so a document with each tag in each outer one shows them.

    >>> sorted(closed_by(("div",), ("b", "div", "p"))["div"])
    ['p']
    """
    closed: dict[str, set[str]] = {name: set() for name in names}
    text = "".join(f"<{a}><{b}>{a} {b}</{b}></{a}>" for a in outer for b in names)
    for element in parse_html(text).iter():
        around, _, inside = (element.text or "").partition(" ")
        is_pair = around in outer and inside in closed
        if is_pair and (around, inside) != (element.getparent().tag, element.tag):
            closed[inside].add(around)
    return {name: frozenset(ended) for name, ended in closed.items()}


@cache
def left_open() -> dict[str, frozenset[str]]:
    """Return for each tag the elements that it ends by the standard, and the parser leaves open.

    >>> left_open()["section"]
    frozenset({'p'})
    """
    closed = closed_by(
        tuple(ENDED_BY_START), tuple(sorted(frozenset.union(*ENDED_BY_START.values())))
    )
    return {name: left for name, ends in ENDED_BY_START.items() if (left := ends - closed[name])}


class Builder:
    """Builder of a document from its events.

    `tokens` are its tags and texts. `elements` has the places among them of elements with text of
    their own. `texts` are the parts of its plain text, and the spaces before them.
    """

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.elements: list[Element] = []
        self.texts: list[str] = []
        # open start tags that are written before the next text: an element without text is dropped
        self.pending: list[Event] = []
        # open elements with a written start tag: its kind, its place among the tokens, and whether
        # the element has text of its own
        self.stack: list[list[Any]] = [[None, 0, False]]
        self.space = ""  # separator before the next text
        self.after_block = True  # whether a block's tag, or the start, separates it already
        self.pre_depth = self.svg_depth = 0  # how many <pre> and <svg> are open
        # the numbers of tokens and of pending tags after the last text in a table
        self.after_table_text = 0, 0

    def build(self, events: list[Any]) -> None:
        """Take all events of the document."""
        add = self.pending.append
        stream = iter(events)
        for event in stream:
            if event.__class__ is str:
                if self.pre_depth:
                    self._take_preformatted(event)
                elif event.isspace():
                    self.space = " "
                else:
                    self._take_text(event)
                continue
            effect, kind, _ = event
            if effect is START_KEPT:
                add(event)
                if kind.name == "pre":
                    self.pre_depth += 1
                    self.space = ""
                elif kind.name == "title" and self.svg_depth:  # a drawing does not show its title
                    self.pending.pop()
                    _skip(stream, START_KEPT, END_KEPT, kind)
            elif effect is END_KEPT:
                self._take_end_tag(kind)
            elif effect is END_AND_START:
                self._end_unclosed(kind)
                add(event)
            else:
                self._take_other_tag(stream, event)
        while len(self.stack) > 1:
            self._write_end_tag()

    def _take_text(self, text: str) -> None:
        """Take a text in which any white space is one space."""
        line = " ".join(text.split())
        if line[0] != text[0]:
            self.space = " "
        self._write(line, line, "" if line[-1] == text[-1] else " ")

    def _take_preformatted(self, text: str) -> None:
        """Take a text whose spaces and line ends count."""
        if self.pending or self.space or self.after_block:
            text = text.removeprefix(WORD_BREAK)  # something else separates the text
        text = text.replace("\r", "\n").replace(WORD_BREAK, " ")
        line = text.strip()
        if not line:
            self.space += text
            return
        start = text.index(line)
        self.space += text[:start]
        self._write(line, " ".join(line.split()), text[start + len(line) :])

    def _write(self, line: str, words: str, after: str) -> None:
        """Write a text, as token and as plain `words`, after the pending tags.

        `after` is the white space at its end.
        """
        table = self._take_pending_table()
        if self.pending:
            self._write_tags()
        elif self.space:
            self._write_space()
        if self.space or self.after_block:
            self.texts.append(" ")
        self.texts.append(words)
        if "&" in line or "<" in line or ">" in line:
            line = escape(line)
        self.tokens.append(line)
        self.stack[-1][2] = True
        self.space, self.after_block = after, False
        if table:
            self.pending += table
            self.after_table_text = len(self.tokens), len(self.pending)

    def _take_pending_table(self) -> list[Event]:
        """Remove a table without cells from the pending tags, and return its tags.

        A text in it is written before it: foster parenting of the HTML standard (13.2.6.1).
        """
        for number in range(len(self.pending) - 1, -1, -1):
            name = self.pending[number][1].name
            if name == "table":
                # its tags separate the text from the last one, unless that was in the table, too
                if self.after_table_text != (len(self.tokens), len(self.pending)):
                    self.space = self.space or " "
                table = self.pending[number:]
                del self.pending[number:]
                return table
            if name not in TABLE_CONTAINERS:
                break
        return []

    def _write_space(self) -> None:
        """Write the white space before a text; outside <pre>, none after a block's tag."""
        if self.pre_depth:
            self.tokens.append(self.space)
        elif not self.after_block:
            self.tokens.append(" ")

    def _write_tags(self) -> None:
        """Write the pending tags, and the white space before a text."""
        block = self._close_before_pending()
        if self.space and not block:
            self._write_space()
        # a line end at the start of <pre> is not part of its text
        indent = self.space.lstrip("\n") if self.pre_depth else ""
        pre_tags = sum(kind.name == "pre" for _, kind, _ in self.pending) if indent else 0
        tokens, stack = self.tokens, self.stack
        for _, kind, tag in self.pending:
            stack.append([kind, len(tokens), False])
            tokens.append(tag)
            if pre_tags and kind.name == "pre":
                pre_tags -= 1
                if not pre_tags:  # the innermost one
                    tokens.append(indent)
        self.pending.clear()
        if block:
            self.space = " "

    def _close_before_pending(self) -> bool:
        """Close what the pending tags end, and return whether a block is among the pending tags.

        They end an open element only if an element between them was dropped for want of text.
        """
        block = False
        outer = self.stack[-1][0]
        for _, kind, _ in self.pending:
            if outer is not None and outer.name in kind.closes:
                return self._apply_closes()
            block = block or kind.block
            outer = kind
        return block

    def _apply_closes(self) -> bool:
        """Close the elements, and drop the pending tags, that a later pending tag ends."""
        closed_block = False
        pending: list[Event] = []
        for event in self.pending:
            closes = event[1].closes
            while pending and pending[-1][1].name in closes:
                closed_block |= pending.pop()[1].block
            while not pending and (top := self.stack[-1][0]) and top.name in closes:
                closed_block |= top.block
                self._write_end_tag()
            pending.append(event)
        self.pending[:] = pending  # `build` adds to this list
        if self.pre_depth:
            kinds = [top for top, _, _ in self.stack[1:]] + [kind for _, kind, _ in pending]
            self.pre_depth = sum(each.name == "pre" for each in kinds)
        if closed_block:
            self.space = self.space or " "
            self.after_block = self.after_block or self.tokens[-1] in BLOCK_TAGS
        return any(kind.block for _, kind, _ in pending)

    def _take_end_tag(self, kind: TagKind) -> None:
        """Take the end tag of a kept element."""
        if self.pending and self.pending[-1][1] is kind:
            self.pending.pop()
            if kind.block:
                self.space = " "
        elif not self.pending and self.stack[-1][0] is kind:
            self._write_end_tag()
            if kind.block:
                self.space, self.after_block = "", True
        else:  # it was ended by another one
            if kind.block:
                self.space = " "
            return
        self.pre_depth -= kind.name == "pre"

    def _end_unclosed(self, kind: TagKind) -> None:
        """End the elements that a start tag ends, and the parser leaves open."""
        while (inner := self.pending[-1][1] if self.pending else self.stack[-1][0]) is not None:
            if inner.name not in kind.unclosed:
                return
            self._take_end_tag(inner)

    def _write_end_tag(self) -> None:
        """Write the end tag of the innermost element."""
        kind, start, has_text = self.stack.pop()
        if has_text:
            self.elements.append((start, len(self.tokens)))
        self.tokens.append(kind.end_tag)

    def _take_other_tag(self, stream: Iterator[Any], event: Event) -> None:
        """Take a tag that is not kept."""
        effect, kind, separator = event
        if effect is BREAK_LINE and self.pre_depth:
            self.space += "\n"
            return
        if effect is START_SILENT:
            _skip(stream, START_SILENT, END_SILENT)
        elif effect is START_DRAWING:
            self.svg_depth += 1
        elif effect is END_DRAWING:
            self.svg_depth -= 1
        elif effect is END_AND_SEPARATE:
            self._end_unclosed(kind)
        if not self.space:
            self.space = separator


def _skip(stream: Iterator[Any], start: int, end: int, kind: TagKind | None = None) -> None:
    """Drop the events of an open element, up to its end; `start` and `end` are tags' effects."""
    depth = 1
    for event in stream:
        if event.__class__ is not str and (kind is None or event[1] is kind):
            depth += (event[0] == start) - (event[0] == end)
            if not depth:
                return
