"""Balanced trees: each node is cut in the middle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from structkit import plugin
from structkit.structure.trees.shapes import balanced
from structkit.structure.trees.tree import Tree
from structkit.structure.trees.words import words_of


@dataclass(frozen=True)
class Parser(plugin.Parser):
    """The balanced tree of a text's words."""

    tokenized: bool = False

    def trees(self, texts: Iterable[plugin.Unparsed]) -> Iterator[Tree]:
        """The tree of each text."""
        for each in texts:
            yield balanced(words_of(each.text, tokenized=self.tokenized))
