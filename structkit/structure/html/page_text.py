"""The visible text of a page, by place: the one walk over its tags that all units share.

Tests: tests/collecting/test_sections.py.
"""

import html as entities
import re
from bisect import bisect_left
from collections import defaultdict
from itertools import accumulate

from structkit.structure.html.markup import CDATA_START, RAW_ELEMENTS, attributes, tags
from structkit.structure.html.tags import (
    SEPARATING_ELEMENTS,
    SILENT_ELEMENTS,
    UNBOUNDED_ELEMENTS,
    VOID_ELEMENTS,
    is_aria_hidden,
)

SEPARATING_TAGS = SEPARATING_ELEMENTS | {f"/{name}" for name in SEPARATING_ELEMENTS}
HIDING_ELEMENTS = SILENT_ELEMENTS - RAW_ELEMENTS - {"template"}  # whose content is read as markup
UNSEEN_SIGN = re.compile(r"<dialog|[\s\"'/](?:aria-)?hidden[\s=/>]", re.I)


class PageText:
    """Visible text of a document, by place; its tags.

    `unseen` are the numbers of tags in closed dialogs and `[hidden]`: their text belongs to the
    document, but their headings begin no section. What `aria-hidden` hides within a line is left
    out: it repeats the text beside it for the eye, as KaTeX and MathJax do with formulas, or is an
    icon. A block stays, since a dialog may have hidden the page while it was open.

    >>> text = PageText("<h1>a</h1>b<i>c</i><video>d</video>e &amp; f<p hidden><b hidden>g</b>")
    >>> text.between(0, 99), text.between(10, 17), text.unseen
    ('a bc e & f g', 'bc', {7})
    """

    def __init__(self, html: str, xml: bool = False) -> None:
        self.html, self.tags = html, list(tags(html, xml))
        self.unseen: set[int] = set()
        self._places: list[int] = []  # of the pieces
        self._pieces: list[str] = []  # each after a space, if one separates it
        self._space = ""
        self._read()
        sizes = (len(piece.strip()) for piece in self._pieces)
        self._sizes = list(accumulate(sizes, initial=0))

    def between(self, start: int, end: int) -> str:
        """Return the text between two places; any white space is one space."""
        first, last = bisect_left(self._places, start), bisect_left(self._places, end)
        return " ".join("".join(self._pieces[first:last]).split())

    def size(self, start: int, end: int) -> int:
        """Return the number of characters between two places, without white space at tags."""
        first, last = bisect_left(self._places, start), bisect_left(self._places, end)
        return self._sizes[last] - self._sizes[first]

    def _read(self) -> None:
        html, opened, counts = self.html, list[str](), defaultdict[str, int](int)
        some_unseen = UNSEEN_SIGN.search(html) is not None
        # how many elements are open, at least, in one that hides its text, or its headings; or 0
        hiding = unseen = at = 0
        for number, (name, start, end, _) in enumerate(self.tags):
            if not hiding:
                if at < start:
                    self._add(at, entities.unescape(html[at:start]))
                if name == CDATA_START:
                    self._add(start, html[start + len(CDATA_START) : end].removesuffix("]]>"))
            at = end
            if name in SEPARATING_TAGS:
                self._space = " "
            if name[:1] == "/":
                name = name[1:]
                while counts[name]:
                    counts[opened[-1]] -= 1
                    if opened.pop() == name:
                        break
                hiding = hiding if hiding <= len(opened) else 0
                unseen = unseen if unseen <= len(opened) else 0
            elif name and name not in VOID_ELEMENTS:
                opened.append(name)
                counts[name] += 1
                tag = html[start:end].lower() if some_unseen else ""
                if name in HIDING_ELEMENTS or (name == "title" and counts["svg"]):
                    hiding = hiding or len(opened)
                elif "aria-hidden" in tag and is_aria_hidden(
                    name, attributes(tag), self.tags[number - 1].name
                ):
                    hiding = hiding or len(opened)
                elif tag and not unseen and _is_unseen(name, tag):
                    unseen = len(opened)
            if unseen:
                self.unseen.add(number)
        if not hiding:
            self._add(at, entities.unescape(html[at:]))

    def _add(self, place: int, text: str) -> None:
        """Add a piece of text, which begins at a place."""
        if text.isspace():
            self._space = " "
        elif text:
            self._places.append(place)
            self._pieces.append(self._space + text.replace("\0", ""))
            self._space = ""


def _is_unseen(name: str, tag: str) -> bool:
    """Return whether an element is not shown until a script or the user opens it."""
    if name == "dialog":
        return "open" not in attributes(tag)
    named = "hidden" in tag and name not in UNBOUNDED_ELEMENTS
    return named and attributes(tag).get("hidden", "until-found") != "until-found"
