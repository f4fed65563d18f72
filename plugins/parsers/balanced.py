"""Balanced trees: each node is split in the middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structkit.structure.trees.shapes import ShapeParser, balanced
from structkit.structure.trees.tree import Tree


@dataclass(frozen=True)
class Parser(ShapeParser):
    """The balanced tree of a text's words."""

    def tree(self, words: Sequence[str], key: str) -> Tree:
        """The tree over these words."""
        return balanced(words)
