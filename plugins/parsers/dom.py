"""HTML: the tree of its elements, with the words of its text at the leaves."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from structkit import plugin
from structkit.errors import UserError
from structkit.settings import settings_class
from structkit.structure.html.reader import left_open, parse_html
from structkit.structure.html.tags import SILENT_ELEMENTS
from structkit.structure.trees.tree import Tree, from_spans
from structkit.structure.trees.words import words_of


@settings_class
class Parser(plugin.Parser):
    """Tree of a document's elements, without scripts and styles.

    >>> from structkit.structure.trees.brackets import write_tree
    >>> trees = Parser().trees([plugin.Unparsed("<h1>Tea</h1><p>is <b>very hot</b>")])
    >>> [write_tree(tree) for tree in trees]
    ['(body (h1 Tea) (p (X is) (b (X very) (X hot))))']
    """

    fields = ("html", "content")
    factor = "balanced"

    tokenized: bool = False

    def trees(self, texts: Iterable[plugin.Unparsed]) -> Iterator[Tree | UserError]:
        """Yield the tree of each document."""
        for each in texts:
            target = _Target(self.tokenized)
            parse_html(each.text, target)
            if target.words:
                yield target.tree()
            else:
                yield UserError("the document holds no text", "leave the record out")


class _Target:
    """Target of lxml's parser; unlike lxml's trees, it has no depth limit."""

    def __init__(self, tokenized: bool) -> None:
        self.tokenized = tokenized
        self.words: list[str] = []
        self.known: dict[str, str] = {}  # each word once, however often it occurs
        self.spans = array("i")  # start and end of each element with words, the inner ones first
        self.tags: list[str] = []
        self.open: list[tuple[str, int]] = []  # the elements, and their first words
        self.pieces: list[str] = []
        self.silent = 0

    def start(self, tag: str, _attributes: Any) -> None:
        self._flush()
        if self.open and self.open[-1][0] in left_open().get(tag, ()):
            self._close()
            self.open.append(("", 0))  # until the parser ends it
        self.silent += tag in SILENT_ELEMENTS
        self.open.append((tag, len(self.words)))

    def end(self, tag: str) -> None:
        self._flush()
        self.silent -= tag in SILENT_ELEMENTS
        self._close()

    def data(self, text: str) -> None:
        if not self.silent:
            self.pieces.append(text)

    def close(self) -> _Target:
        self._flush()
        return self

    def tree(self) -> Tree:
        """Return the tree of the elements; of elements with the same words the innermost counts."""
        spans = np.asarray(self.spans).reshape(-1, 2)[::-1]
        return from_spans(self.words, spans, self.tags[::-1])

    def _close(self) -> None:
        tag, start = self.open.pop()
        if tag and start < len(self.words):
            self.spans.extend((start, len(self.words)))
            self.tags.append(tag)

    def _flush(self) -> None:
        text = "".join(self.pieces)
        self.pieces.clear()
        if text and not text.isspace():
            words = words_of(text, tokenized=self.tokenized)
            self.words += map(self.known.setdefault, words, words)
