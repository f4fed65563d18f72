"""HTML by element: the XPath and the characters of each paragraph, list item, table row.

lxml gives the elements of a document, but not their places: a comment in front of every tag does,
and changes nothing else.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, NamedTuple

from lxml import etree

from structkit.structure.html.markup import INERT_ELEMENTS, PLACE_MARK, RAW_ELEMENTS, Tag
from structkit.structure.html.page_text import PageText
from structkit.structure.html.tags import STRUCTURE

BLOCK_ELEMENTS = frozenset(STRUCTURE) | frozenset(
    "body center dialog dir fieldset form head html menu search".split()
)
ITEM_ELEMENTS = frozenset(("dd", "figure", "li", "tr"))  # one part with all that is in them …
MAX_ITEM_CHARACTERS = 1000  # … unless this is longer: characters of text
MAX_XPATH_DEPTH = 2_048  # as deep as the trees of libxml2
XPATH_NAME = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII)


class Excerpt(NamedTuple):
    """A part of a document: its element, and its place in characters of the document."""

    xpath: str
    start: int
    end: int


def walk(text: PageText) -> ParserTarget:
    """Return the elements of a document, and the places of its blocks, both in its order."""
    html, tag_list = text.html.replace("\0", " "), [*text.tags]  # NUL ends the text
    pieces, at = [], 0
    for number, tag in enumerate(tag_list):
        if not tag.name and number and tag_list[number - 1].name in INERT_ELEMENTS:
            pieces.append(html[at : tag_list[number - 1].start])
            at = tag.end  # the parser would take it for a part of the document
        elif tag.name and tag.name[1:] not in RAW_ELEMENTS:
            pieces += [html[at : tag.start], f"<!--{PLACE_MARK}{number}-->"]
            at = tag.start
        if tag.opened:
            pieces.append(html[at : tag.end - 2])
            at = tag.end - 1
    pieces += [html[at:], f"<!--{PLACE_MARK}{len(tag_list)}-->"]
    tag_list.append(Tag("", len(html), len(html)))
    target = ParserTarget(text, tag_list)
    parser = etree.HTMLParser(target=target, huge_tree=True, encoding="utf-8")
    # UTF-8 cannot hold half of a surrogate pair
    walked: ParserTarget = etree.fromstring("".join(pieces).encode("utf-8", "replace"), parser)
    return walked


class _Element(NamedTuple):
    """Element: its parent, its place among siblings of its name and among all, its children."""

    name: str
    parent: int
    place: int
    place_among_all: int
    child_counts: dict[str, int]  # by name; under "" of all


class _Block:
    """A block: its element, where it is, its parts (other blocks, or runs of text)."""

    def __init__(self, element: int, start: int, run: int) -> None:
        self.element, self.start, self.end = element, start, start
        self.parts: list[int | tuple[int, int]] = []
        self.run_start = run  # start of the present run

    def cut(self, text: PageText, at: int) -> None:
        """End the present run."""
        if text.size(self.run_start, at):
            self.parts.append((self.run_start, at))
        self.run_start = at


class ParserTarget:
    """Target of lxml's parser: `elements`, each after its parent, and `blocks`."""

    def __init__(self, text: PageText, tags: list[Tag]) -> None:
        self.text, self.html = text, text.html
        self.tags, self.tag, self.number = tags, Tag("", 0, 0), -1
        self.tag_is_pending = False
        self.at = 0  # characters of the document
        # the document itself is the first element and the first block
        self.elements = [_Element("", 0, 0, 0, {})]
        self.blocks = [_Block(0, 0, 0)]
        self.open_elements = [0]
        self.open_blocks = [0]
        self.paths = {0: ("", 0)}  # of elements that were asked for, with their depth

    def comment(self, text: str) -> None:
        if text.startswith(PLACE_MARK) and text[1:].isdecimal():
            self._reach(int(text[1:]))

    def _reach(self, number: int) -> None:
        """Move on to a tag that the parser has reached."""
        number = min(number, len(self.tags) - 1)
        if number > self.number:
            self.tag, self.number, self.tag_is_pending = self.tags[number], number, True
            if self.tag.name in ("/body", "/html"):  # they end only the text before them
                self.blocks[self.open_blocks[-1]].cut(self.text, self.tag.start)

    def data(self, text: str) -> None:
        self.tag_is_pending = False

    def _advance(self, is_end_tag: bool) -> int:
        """Update the parser's place: a tag's start, or after it if it has taken effect."""
        at = self.tag.start if self.tag_is_pending and not is_end_tag else self.tag.end
        self.at = max(self.at, at)
        return self.at

    def start(self, name: str, _attributes: Any) -> None:
        parent = self.open_elements[-1]
        counts = self.elements[parent].child_counts
        place, place_among_all = counts.get(name, 0) + 1, counts.get("", 0) + 1
        counts[name], counts[""] = place, place_among_all
        self.open_elements.append(len(self.elements))
        self.elements.append(_Element(name, parent, place, place_among_all, {}))
        at = self._advance(is_end_tag=False)
        if self.tag.name == name:
            self.tag_is_pending = False
        if name in BLOCK_ELEMENTS:
            self.blocks[self.open_blocks[-1]].cut(self.text, at)
            self.open_blocks.append(len(self.blocks))
            run = at if self.tag_is_pending else max(at, self.tag.end)
            self.blocks.append(_Block(self.open_elements[-1], at, run))

    def end(self, name: str) -> None:
        self.open_elements.pop()
        if name in RAW_ELEMENTS and self.tag.name == name:
            # after its content, which is a tag without a name, comes its end tag, or nothing
            has_content = not self.tags[self.number + 1].name
            self._reach(self.number + (2 if has_content else 1))
        is_end_tag = self.tag.name == f"/{name}"
        at = self._advance(is_end_tag)
        if is_end_tag:
            self.tag_is_pending = False
        if name in BLOCK_ELEMENTS:
            number = self.open_blocks.pop()
            block = self.blocks[number]
            block.cut(self.text, max(block.run_start, self.tag.start) if is_end_tag else at)
            block.end = at
            outer = self.blocks[self.open_blocks[-1]]
            outer.run_start = at
            if block.parts:
                outer.parts.append(number)

    def close(self) -> ParserTarget:
        self.blocks[0].cut(self.text, len(self.html))
        return self

    @cached_property
    def parts(self) -> list[Excerpt]:
        """The parts of the document in its order; each visible word is in one of them.

        A part is a block (paragraph, heading, cell …) with all tags inside it, if no other block is
        among these; a list item, table row, figure or definition of at most 1,000 characters; and
        text between blocks, as a part of the element that holds it. XPaths are as in lxml's tree.

        >>> html = "<h1>Tea</h1><ul><li><p>green</p><p>hot</p></ul>so <b>much</b><p>for tea"
        >>> for part in walk(PageText(html)).parts:
        ...     print(part.xpath, html[part.start : part.end])
        /html/body/h1 <h1>Tea</h1>
        /html/body/ul/li <li><p>green</p><p>hot</p>
        /html/body so <b>much</b>
        /html/body/p <p>for tea
        """
        found: list[Excerpt] = []
        waiting: list[tuple[int, int | tuple[int, int]]] = [(0, 0)]
        while waiting:
            owner, part = waiting.pop()
            if not isinstance(part, int):
                found.append(Excerpt(self.xpath(self.blocks[owner].element), *part))
                continue
            block = self.blocks[part]
            small = self.text.size(block.start, block.end) <= MAX_ITEM_CHARACTERS
            item = part > 0 and small and self.elements[block.element].name in ITEM_ELEMENTS
            if not item and any(isinstance(each, int) for each in block.parts):
                waiting.extend((part, each) for each in reversed(block.parts))
            elif block.parts:
                found.append(Excerpt(self.xpath(block.element), block.start, block.end))
        return found

    def starts(self, name: str) -> dict[int, int]:
        """Return the elements of a block's name, by the place where each begins."""
        named = (block for block in self.blocks if self.elements[block.element].name == name)
        return {block.start: block.element for block in named}

    def xpath(self, element: int) -> str:
        """Return the path from the document, as lxml's `getpath` writes it.

        An element below `MAX_XPATH_DEPTH` has the path of its ancestor at that depth, or paths
        would be longer than the document.
        """
        below = []
        while element not in self.paths:
            below.append(element)
            element = self.elements[element].parent
        path, depth = self.paths[element]
        for inner in reversed(below):
            if depth < MAX_XPATH_DEPTH:
                path, depth = path + self._step(inner), depth + 1
            self.paths[inner] = path, depth
        return path or "/html"  # text after </html> may be in no element

    def _step(self, element: int) -> str:
        """Return the last step of the path to an element."""
        name, parent, place, place_among_all, _ = self.elements[element]
        if not XPATH_NAME.fullmatch(name):  # such as <o:p>
            return f"/*[{place_among_all}]"
        is_only = self.elements[parent].child_counts[name] == 1
        return f"/{name}" if is_only else f"/{name}[{place}]"
