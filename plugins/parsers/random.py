"""Random trees: each node is cut somewhere, drawn by the seed and the record's id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from structkit.seeds import random_for
from structkit.structure.trees.shapes import random
from structkit.structure.trees.tree import Tree
from structkit.structure.trees.words import words_of


def trees(
    texts: Iterable[str], *, keys: Sequence[str], seed: int = 0, tokenized: bool = False
) -> Iterator[Tree]:
    """The tree of each text, the same for the same seed, key and number of words."""
    for key, text in zip(keys, texts, strict=True):
        yield random(words_of(text, tokenized=tokenized), random_for(seed, key, "tree"))
