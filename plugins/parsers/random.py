"""Random trees: each node is split at random, drawn by the seed and the record's id."""

from __future__ import annotations

from collections.abc import Sequence

from structkit.reproducibility import random_for
from structkit.settings import settings_class
from structkit.structure.trees.shapes import ShapeParser, random
from structkit.structure.trees.tree import Tree


@settings_class
class Parser(ShapeParser):
    """A tree of a text's words, the same for the same seed, key and number of words."""

    seed: int = 0

    def tree(self, words: Sequence[str], key: str) -> Tree:
        """Return the tree over these words."""
        return random(words, random_for(self.seed, key, "tree"))
