"""HTML: the tree of its elements, with the words of its text at the leaves."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from lxml import etree

from structkit.errors import UserError
from structkit.structure.html.sources import repaired
from structkit.structure.html.tags import SILENT
from structkit.structure.trees.brackets import Tree, from_spans
from structkit.structure.trees.words import words_of

FIELDS = ("html", "content")
FACTOR = "balanced"


def trees(texts: Iterable[str], *, tokenized: bool = False) -> Iterator[Tree | UserError]:
    """The tree of each document; scripts and styles are left out.

    >>> from structkit.structure.trees.brackets import write
    >>> [write(tree) for tree in trees(["<h1>Tea</h1><p>is <b>very hot</b>"])]
    ['(body (h1 Tea) (p (X is) (b (X very) (X hot))))']
    """
    for text in texts:
        # what is in front keeps the parser from XHTML's rules
        parser = etree.HTMLParser(target=_Target(tokenized), huge_tree=True, encoding="utf-8")
        parser.feed(b"<html><body>")
        parser.feed(repaired(text).encode("utf-8"))
        found = parser.close()
        if found.words:
            yield found.tree()
        else:
            yield UserError("the document holds no text", "leave the record out")


class _Target:
    """Takes what lxml's parser calls; it has no limit of depth, as its trees have."""

    def __init__(self, tokenized: bool) -> None:
        self.tokenized = tokenized
        self.words: list[str] = []
        self.known: dict[str, str] = {}  # each word once, however often it occurs
        self.spans = array("i")  # start and end of each element with words, the inner ones first
        self.tags: list[str] = []
        self.starts: list[int] = []
        self.pieces: list[str] = []
        self.silent = 0

    def start(self, tag: str, _attributes: Any) -> None:
        self._flush()
        self.silent += tag in SILENT
        self.starts.append(len(self.words))

    def end(self, tag: str) -> None:
        self._flush()
        self.silent -= tag in SILENT
        start = self.starts.pop()
        if start < len(self.words):
            self.spans.extend((start, len(self.words)))
            self.tags.append(tag)

    def data(self, text: str) -> None:
        if not self.silent:
            self.pieces.append(text)

    def close(self) -> _Target:
        self._flush()
        return self

    def tree(self) -> Tree:
        """The tree of what was taken; of elements with the same words the innermost one counts."""
        spans = np.asarray(self.spans).reshape(-1, 2)[::-1]
        return from_spans(self.words, spans, self.tags[::-1])

    def _flush(self) -> None:
        text = "".join(self.pieces)
        self.pieces.clear()
        if text and not text.isspace():
            found = words_of(text, tokenized=self.tokenized)
            self.words += map(self.known.setdefault, found, found)
