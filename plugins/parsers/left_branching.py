"""Left-branching trees: each node holds a word and all words before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structkit.structure.trees.shapes import ShapeParser, left_branching
from structkit.structure.trees.tree import Tree


@dataclass(frozen=True)
class Parser(ShapeParser):
    """The left-branching tree of a text's words."""

    def tree(self, words: Sequence[str], key: str) -> Tree:
        """The tree over these words."""
        return left_branching(words)
