"""Right-branching trees: each node holds a word and all words after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structkit.structure.trees.shapes import ShapeParser, right_branching
from structkit.structure.trees.tree import Tree


@dataclass(frozen=True)
class Parser(ShapeParser):
    """The right-branching tree of a text's words."""

    def tree(self, words: Sequence[str], key: str) -> Tree:
        """The tree over these words."""
        return right_branching(words)
