"""Random trees: each node is cut somewhere, drawn by the seed and the record's id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from structkit import plugin
from structkit.seeds import random_for
from structkit.structure.trees.shapes import random
from structkit.structure.trees.tree import Tree
from structkit.structure.trees.words import words_of


@dataclass(frozen=True)
class Parser(plugin.Parser):
    """A tree of a text's words, the same for the same seed, key and number of words."""

    seed: int = 0
    tokenized: bool = False

    def trees(self, texts: Iterable[plugin.Unparsed]) -> Iterator[Tree]:
        """The tree of each text."""
        for each in texts:
            words = words_of(each.text, tokenized=self.tokenized)
            yield random(words, random_for(self.seed, each.key, "tree"))
