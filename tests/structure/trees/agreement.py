"""How far trees agree with gold trees: unlabelled F1 of their spans."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from structkit.errors import UserError
from structkit.structure.trees.brackets import binarize
from structkit.structure.trees.tree import Tree

Span = tuple[int, int]


@dataclass(frozen=True)
class Agreement:
    """Counts of spans over all sentences."""

    common: int
    found: int
    gold: int

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, x 100; 100 where there are no spans at all."""
        total = self.found + self.gold
        return 200 * self.common / total if total else 100.0


def agreement(pairs: Iterable[tuple[Tree, Tree]], *, binary: bool = True) -> Agreement:
    """How far found trees agree with gold ones: unlabelled, without words and whole sentences.

    `binary` compares both when they are binarized to the right, with punctuation. Otherwise they
    are compared as they are without it: spans are those of the other words. Errors: other words.

    >>> from structkit.structure.trees.brackets import read
    >>> gold = read("(S (NP the cat) (VP sleeps well) .)")
    >>> found = read("(X (X (X the cat) sleeps) (X well .))")
    >>> round(agreement([(found, gold)], binary=False).f1, 1)
    50.0
    """
    common = found = gold = 0
    for number, (one, other) in enumerate(pairs, 1):
        if one.words != other.words:
            raise UserError(
                f"the words of pair {number} differ",
                "parse the words of the gold tree: --tokenized",
            )
        ours, theirs = (_binary(tree) if binary else _plain(tree) for tree in (one, other))
        common += len(ours & theirs)
        found += len(ours)
        gold += len(theirs)
    return Agreement(common, found, gold)


def _binary(tree: Tree) -> set[Span]:
    return _inner(tree if tree.is_binary else binarize(tree), list(range(len(tree.words) + 1)))


def _plain(tree: Tree) -> set[Span]:
    places = [0]
    for word in tree.words:
        places.append(places[-1] + any(map(str.isalnum, word)))
    return _inner(tree, places)


def _inner(tree: Tree, places: list[int]) -> set[Span]:
    """Spans of two words or more that are not the whole, where a word's place is counted anew."""
    spans = {(places[start], places[end]) for start, end in tree.spans().tolist()}
    return {(start, end) for start, end in spans if end - start > 1 and end - start < places[-1]}
