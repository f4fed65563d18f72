"""Balanced trees: each node is cut in the middle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from structkit.structure.trees.shapes import balanced
from structkit.structure.trees.tree import Tree
from structkit.structure.trees.words import words_of


def trees(texts: Iterable[str], *, tokenized: bool = False) -> Iterator[Tree]:
    """The tree of each text."""
    for text in texts:
        yield balanced(words_of(text, tokenized=tokenized))
