"""The events of an HTML parser, one after the other: texts, and tags that matter.

No tree is built: libxml2's are at most 2,048 deep, and what is deeper is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from lxml import etree

from structkit.structure.html.sources import repaired, with_attributes
from structkit.structure.html.tags import SEPARATORS, SILENT

# this prefix keeps the parser from putting a paragraph around text, and from XHTML's rules
HEAD = b"<html><body>"


@dataclass(frozen=True, slots=True)
class Kept:
    """A kind of tag that is kept."""

    name: str = ""
    end: str = ""  # its end tag
    block: bool = False
    closes: frozenset[str] = frozenset()  # what cannot hold it: its start tag ends such an element


# what a tag does: start or end a kept element, separate words, break a line, start or end an
# element that shows nothing, or a drawing
OPEN, CLOSE, SEPARATE, BREAK, HIDE, SHOW, DRAW, DRAWN = range(8)
Event = tuple[int, Kept, str]


class Events:
    """The events of documents: a `str` is text or a piece of it, anything else a tag.

    >>> [event if type(event) is str else event[2] for event in Events(("p",)).of("<p>a<b>c</b>")]
    [' ', ' ', '<p>', 'a', 'c', '</p>', ' ', ' ']
    """

    def __init__(self, keep: tuple[str, ...], *, attributes: bool = False) -> None:
        starts: dict[str, Event] = {}
        ends: dict[str, Event] = {}
        for name in SEPARATORS:
            starts[name] = ends[name] = SEPARATE, Kept(), " "
        for name in SILENT:
            starts[name] = HIDE, Kept(), " " if name in SEPARATORS else ""
            ends[name] = SHOW, Kept(), ""
        starts["br"] = BREAK, Kept(), " "
        starts["svg"], ends["svg"] = (DRAW, Kept(), " "), (DRAWN, Kept(), " ")
        for name, closes in closed_by(keep).items():
            kept = Kept(name, f"</{name}>", name in SEPARATORS, closes)
            starts[name], ends[name] = (OPEN, kept, f"<{name}>"), (CLOSE, kept, kept.end)
        self._events: list[Any] = []
        target = _Target(self._events, starts, ends, attributes)
        self._parser = etree.HTMLParser(target=target, huge_tree=True, encoding="utf-8")

    def of(self, html: str) -> list[Any]:
        """All events of a text; the list is made anew for the next one."""
        self._events.clear()
        parse(html, self._parser)
        return self._events


class _Target:
    """Takes what the parser of lxml calls; functions in a closure are its fastest way to Python."""

    def __init__(
        self,
        events: list[Any],
        starts: Mapping[str, Event],
        ends: Mapping[str, Event],
        attributes: bool,
    ) -> None:
        add, start_of, end_of = events.append, starts.get, ends.get

        def start(name: str, given: Mapping[str, str]) -> None:
            event = start_of(name)
            if event is not None:
                if attributes and given and event[0] is OPEN:
                    event = OPEN, event[1], with_attributes(name, given)
                add(event)

        def end(name: str) -> None:
            event = end_of(name)
            if event is not None:
                add(event)

        self.start, self.end, self.data = start, end, add

    def close(self) -> None:
        """Nothing is left to do."""


def parse(html: str, parser: Any) -> Any:
    """What a parser's target makes of a text, whatever the text declares to be encoded in."""
    # UTF-8 cannot hold half of a surrogate pair
    return etree.fromstring(HEAD + repaired(html).encode("utf-8", "replace"), parser)


class _Nesting:
    """Finds out which tags cannot hold which others, because the parser ends them there."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._found: dict[str, set[str]] = {}

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._open.append(name)

    def end(self, name: str) -> None:
        self._open.pop()

    def data(self, text: str) -> None:
        names = text.split()
        if len(names) == 2 and self._open[-2:] != names:  # in <title>, tags are text
            outer, inner = names
            self._found.setdefault(inner, set()).add(outer)

    def close(self) -> dict[str, set[str]]:
        return self._found


@cache
def closed_by(names: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """For each tag, those of the others that its start tag ends.

    Written text obeys these rules, so that it is read as it was written. The parser itself is
    asked, because its versions differ.

    >>> sorted(closed_by(("b", "div", "p"))["div"])
    ['p']
    """
    pairs = [(outer, inner) for outer in names for inner in names]
    text = "".join(f"<{a}><{b}>{a} {b}</{b}></{a}>" for a, b in pairs)
    parser = etree.HTMLParser(target=_Nesting(), huge_tree=True, encoding="utf-8")
    closed = parse(text, parser)
    return {name: frozenset(closed.get(name, ())) for name in names}
