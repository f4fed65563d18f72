"""Right-branching trees: each node holds a word and all that follows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from structkit.structure.trees.shapes import right_branching
from structkit.structure.trees.tree import Tree
from structkit.structure.trees.words import words_of


def trees(texts: Iterable[str], *, tokenized: bool = False) -> Iterator[Tree]:
    """The tree of each text."""
    for text in texts:
        yield right_branching(words_of(text, tokenized=tokenized))
