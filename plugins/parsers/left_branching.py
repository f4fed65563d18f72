"""Left-branching trees: each node holds a word and all words before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from structkit import plugin
from structkit.structure.trees.shapes import left_branching
from structkit.structure.trees.tree import Tree
from structkit.structure.trees.words import words_of


@dataclass(frozen=True)
class Parser(plugin.Parser):
    """The left-branching tree of a text's words."""

    tokenized: bool = False

    def trees(self, texts: Iterable[plugin.Unparsed]) -> Iterator[Tree]:
        """The tree of each text."""
        for each in texts:
            yield left_branching(words_of(each.text, tokenized=self.tokenized))
