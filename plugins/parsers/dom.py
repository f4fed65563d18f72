"""HTML: the tree of its elements, with the words of its text at the leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

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
        words, spans = parser.close()
        if words:
            yield from_spans(words, list(spans), list(spans.values()))
        else:
            yield UserError("the document holds no text", "leave the record out")


class _Target:
    """Takes what lxml's parser calls; it has no limit of depth, as its trees have."""

    def __init__(self, tokenized: bool) -> None:
        self.tokenized = tokenized
        self.words: list[str] = []
        self.spans: dict[tuple[int, int], str] = {}  # the innermost element of those alike
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
        span = self.starts.pop(), len(self.words)
        if span[0] < span[1]:
            self.spans.setdefault(span, tag)

    def data(self, text: str) -> None:
        if not self.silent:
            self.pieces.append(text)

    def close(self) -> tuple[list[str], dict[tuple[int, int], str]]:
        self._flush()
        return self.words, self.spans

    def _flush(self) -> None:
        self.words += words_of("".join(self.pieces), tokenized=self.tokenized)
        self.pieces.clear()
