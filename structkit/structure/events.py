"""The events of HTML's parser: start tags, end tags and texts, without a tree.

libxml2 builds no tree deeper than 2,048, and what is deeper is dropped; its events know no limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lxml import etree

from structkit.structure.sources import repaired

# what is in front keeps the parser from putting a paragraph around text, and from XHTML's rules
HEAD = b"<html><body>"


def parse(html: str, target: Any) -> Any:
    """What a target makes of the events of a text's parser."""
    parser = etree.HTMLParser(target=target, huge_tree=True, encoding="utf-8")
    # a character that UTF-8 cannot hold is half of one
    return etree.fromstring(HEAD + repaired(html).encode("utf-8", "replace"), parser)


class _Nesting:
    """Finds out which tags cannot hold which others, because the parser closes them there."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._found: dict[str, set[str]] = {}

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._open.append(tag)

    def end(self, tag: str) -> None:
        self._open.pop()

    def data(self, text: str) -> None:
        names = text.split()
        if len(names) == 2 and self._open[-2:] != names:  # text in <title> is another thing
            outer, inner = names
            self._found.setdefault(outer, set()).add(inner)

    def close(self) -> dict[str, set[str]]:
        return self._found


def closing(names: Sequence[str]) -> dict[str, frozenset[str]]:
    """For each tag, those of the others whose start tag ends it.

    What is written obeys them, so that it is read as it was written. The parser is asked, as its
    versions differ.

    >>> sorted(closing(["p", "b", "div"])["p"])
    ['div', 'p']
    """
    pairs = [(outer, inner) for outer in names for inner in names]
    text = "".join(f"<{a}><{b}>{a} {b}</{b}></{a}>" for a, b in pairs)
    found = parse(text, _Nesting())
    return {name: frozenset(found.get(name, ())) for name in names}
