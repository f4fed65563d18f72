"""HTML by element: the XPath and the characters of each paragraph, list item, table row.

lxml gives the elements of a document, but not their places: a comment in front of every tag does,
and changes nothing else.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from lxml import etree

from structkit.structure.html.markup import CUT, INERT, RAW, Tag, tags
from structkit.structure.html.tags import SILENT as HIDDEN
from structkit.structure.html.tags import STRUCTURE

BLOCKS = frozenset(STRUCTURE) | frozenset(
    "body center dialog dir fieldset form head html menu search".split()
)
ITEMS = frozenset(("dd", "figure", "li", "tr"))  # one part with all that is in them …
LARGE = 1000  # … unless this is longer: characters of text
NAME = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII)


class Excerpt(NamedTuple):
    """A part of a document: its element, and its place in characters of the document."""

    xpath: str
    start: int
    end: int


def parts(walked: ParserTarget) -> list[Excerpt]:
    """Return the parts of a document in its order; each visible word is in one of them.

    A part is a block (paragraph, heading, cell …) with all tags inside it, if no other block is
    among these; a list item, table row, figure or definition of at most 1,000 characters; and text
    between blocks, as a part of the element that holds it. XPaths are as in lxml's tree.

    >>> html = "<h1>Tea</h1><ul><li><p>green</p><p>hot</p></ul>so <b>much</b><p>for tea"
    >>> for part in parts(walk(html)):
    ...     print(part.xpath, html[part.start : part.end])
    /html/body/h1 <h1>Tea</h1>
    /html/body/ul/li <li><p>green</p><p>hot</p>
    /html/body so <b>much</b>
    /html/body/p <p>for tea
    """
    parts: list[Excerpt] = []
    waiting: list[tuple[int, int | tuple[int, int]]] = [(0, 0)]
    while waiting:
        owner, part = waiting.pop()
        if not isinstance(part, int):
            parts.append(Excerpt(walked.xpath(walked.blocks[owner].element), *part))
            continue
        block = walked.blocks[part]
        small = part > 0 and walked.elements[block.element].name in ITEMS and block.size <= LARGE
        if small or not any(isinstance(each, int) for each in block.parts):
            if block.parts:
                parts.append(Excerpt(walked.xpath(block.element), block.start, block.end))
        else:
            waiting.extend((part, each) for each in reversed(block.parts))
    return parts


def walk(html: str) -> ParserTarget:
    """Return the elements of a document, and the places of its blocks, both in its order."""
    html = html.replace("\0", " ")  # it would end the text
    in_order = list(tags(html, closing=True))
    pieces, at = [], 0
    for number, tag in enumerate(in_order):
        if not tag.name and number and in_order[number - 1].name in INERT:
            pieces.append(html[at : in_order[number - 1].start])
            at = tag.end  # the parser would take it for a part of the document
        elif tag.name and tag.name[1:] not in RAW:
            pieces += [html[at : tag.start], f"<!--{CUT}{number}-->"]
            at = tag.start
    pieces += [html[at:], f"<!--{CUT}{len(in_order)}-->"]
    in_order.append(Tag("", len(html), len(html)))
    target = ParserTarget(html, in_order)
    parser = etree.HTMLParser(target=target, huge_tree=True, encoding="utf-8")
    # UTF-8 cannot hold half of a surrogate pair
    walked: ParserTarget = etree.fromstring("".join(pieces).encode("utf-8", "replace"), parser)
    return walked


class _Element(NamedTuple):
    """Element: its parent, its place among siblings of its name and among all, its children."""

    name: str
    parent: int
    place: int
    among: int
    children: dict[str, int]  # how many of each name, and of all


class _Block:
    """A block: its element, where it is, its parts (other blocks, or runs of text), its size."""

    def __init__(self, element: int, start: int, size: int) -> None:
        self.element, self.start, self.end, self.size = element, start, start, size
        self.parts: list[int | tuple[int, int]] = []
        self.run, self.text = start, False  # start of the present run, and whether it has text

    def cut(self, at: int) -> None:
        """End the present run."""
        if self.text:
            self.parts.append((self.run, at))
        self.run, self.text = at, False


class ParserTarget:
    """Target of lxml's parser: `elements`, each after its parent, and `blocks`."""

    def __init__(self, html: str, tags: list[Tag]) -> None:
        self.html = html
        self.tags, self.tag, self.number = tags, Tag("", 0, 0), -1
        self.fresh = False  # the tag has done nothing yet
        self.at = self.size = 0  # characters of the document, and of text
        # the document itself is the first element and the first block
        self.elements = [_Element("", 0, 0, 0, {})]
        self.blocks = [_Block(0, 0, 0)]
        self.open = [0]  # elements
        self.outer = [0]  # blocks
        self.silent = self.drawings = 0

    def comment(self, text: str) -> None:
        if text.startswith(CUT) and text[1:].isdecimal():
            self._see(int(text[1:]))

    def _see(self, number: int) -> None:
        """Move on to a tag that the parser has reached."""
        number = min(number, len(self.tags) - 1)
        if number > self.number:
            self.tag, self.number, self.fresh = self.tags[number], number, True
            if self.tag.name in ("/body", "/html"):  # they end only the text before them
                self.blocks[self.outer[-1]].cut(self.tag.start)

    def data(self, text: str) -> None:
        self.fresh = False
        text = text.partition(f"<!--{CUT}")[0].strip()  # where our comment is text
        if text and not self.silent:
            self.size += len(text)
            self.blocks[self.outer[-1]].text = True

    def _move(self, own: bool) -> int:
        """Update the parser's place: a tag's start, or after it if it has taken effect."""
        at = self.tag.start if self.fresh and not own else self.tag.end
        self.at = max(self.at, at)
        return self.at

    def start(self, name: str, _attributes: Any) -> None:
        parent = self.open[-1]
        counts = self.elements[parent].children
        place, among = counts.get(name, 0) + 1, counts.get("", 0) + 1
        counts[name], counts[""] = place, among
        self.open.append(len(self.elements))
        self.elements.append(_Element(name, parent, place, among, {}))
        self.silent += self._hidden(name)
        self.drawings += name == "svg"
        at = self._move(own=False)
        if self.tag.name == name:
            self.fresh = False
        if name in BLOCKS:
            self.blocks[self.outer[-1]].cut(at)
            self.outer.append(len(self.blocks))
            self.blocks.append(_Block(self.open[-1], at, self.size))
            self.blocks[-1].run = at if self.fresh else max(at, self.tag.end)

    def end(self, name: str) -> None:
        self.open.pop()
        self.drawings -= name == "svg"
        self.silent -= self._hidden(name)
        if name in RAW and self.tag.name == name and self.html[self.tag.end - 2] != "/":
            # after its content, which is a tag without a name, comes its end tag, or nothing
            self._see(self.number + 1 + (not self.tags[self.number + 1].name))
        own = self.tag.name == f"/{name}"
        at = self._move(own)
        if own:
            self.fresh = False
        if name in BLOCKS:
            number = self.outer.pop()
            block = self.blocks[number]
            block.cut(max(block.run, self.tag.start) if own else at)
            block.end, block.size = at, self.size - block.size
            outer = self.blocks[self.outer[-1]]
            outer.run = at
            if block.parts:
                outer.parts.append(number)

    def _hidden(self, name: str) -> bool:
        # the title of a drawing is not shown
        return name in HIDDEN or (name == "title" and self.drawings > 0)

    def close(self) -> ParserTarget:
        self.blocks[0].cut(len(self.html))
        return self

    def starts(self, name: str) -> dict[int, int]:
        """Return the elements of a block's name, by the place where each begins."""
        named = (block for block in self.blocks if self.elements[block.element].name == name)
        return {block.start: block.element for block in named}

    def xpath(self, element: int) -> str:
        """Return the path from the document, as lxml's `getpath` writes it."""
        steps = []
        while element:
            name, parent, place, among, _ = self.elements[element]
            if not NAME.fullmatch(name):  # such as <o:p>
                steps.append(f"/*[{among}]")
            else:
                several = self.elements[parent].children[name] > 1
                steps.append(f"/{name}[{place}]" if several else f"/{name}")
            element = parent
        # text after </html> may be in no element
        return "".join(reversed(steps)) or "/html"
