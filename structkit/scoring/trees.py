"""How far trees agree with gold trees: F1 of their spans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from structkit.errors import UserError
from structkit.scoring.measures import Values
from structkit.structure.trees.brackets import UNLABELED, binarize
from structkit.structure.trees.tree import Tree

Span = tuple[str, int, int]  # label (none: any), first word, end
Counts = NDArray[np.int64]


def plain(tree: Tree) -> set[Span]:
    """The spans of a tree as it is, without punctuation: of the other words, two or more.

    The span of the whole sentence is left out: all trees have it.

    >>> from structkit.structure.trees.brackets import read
    >>> sorted(plain(read("(S (NP the (A old cat)) (VP sleeps well) .)")))
    [('', 0, 3), ('', 1, 3), ('', 3, 5)]
    """
    return {("", start, end) for _, start, end in _inner(tree, _places(tree))}


def binarized(tree: Tree) -> set[Span]:
    """The spans of a tree that is binarized to the right, with punctuation."""
    binary = tree if tree.is_binary else binarize(tree)
    return {("", start, end) for _, start, end in _inner(binary, [*range(len(tree.words) + 1)])}


def labeled(tree: Tree) -> set[Span]:
    """As `plain`, each with its labels; nodes that binarizing made have none.

    >>> from structkit.structure.trees.brackets import read
    >>> sorted(labeled(read("(S (NP+QP (A one) (B two)) (S|<> (V go) (NP (B far) (C off))))")))
    [('NP', 0, 2), ('NP', 3, 5), ('QP', 0, 2)]
    """
    return {
        (label, start, end)
        for name, start, end in _inner(tree, _places(tree))
        for label in name.split("+")
        if label not in ("", UNLABELED) and not label.endswith("|<>")
    }


def agreement(pairs: Iterable[tuple[Tree, Tree]], spans: Callable[[Tree], set[Span]]) -> Counts:
    """The spans that found and gold trees have in common, found and gold, (pairs, 3).

    Errors: a pair with different words.
    """
    counts = []
    for number, (found, gold) in enumerate(pairs, 1):
        if found.words != gold.words:
            raise UserError(
                f"the words of pair {number} differ", "parse the words of the gold tree"
            )
        ours, theirs = spans(found), spans(gold)
        counts.append((len(ours & theirs), len(ours), len(theirs)))
    return np.array(counts, np.int64).reshape(-1, 3)


def f1(counts: Counts) -> Values:
    """The harmonic mean of precision and recall x 100 of summed counts (…, 3); 100 without spans.

    >>> from structkit.structure.trees.brackets import read
    >>> gold = read("(S (NP the (A old cat)) (VP sleeps well) .)")
    >>> found = read("(S (NP the old cat) (X (VP sleeps well) .))")
    >>> float(f1(agreement([(found, gold)], plain).sum(0)))  # P 2/2, R 2/3
    80.0
    """
    common, found, gold = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    total = found + gold
    return np.asarray(np.where(total, 200 * common / np.where(total, total, 1), 100.0))


def _places(tree: Tree) -> list[int]:
    """Where each word is when punctuation is not counted."""
    places = [0]
    for word in tree.words:
        places.append(places[-1] + any(map(str.isalnum, word)))
    return places


def _inner(tree: Tree, places: list[int]) -> Iterator[Span]:
    """Spans of two words or more that are not the whole, where a word's place is counted anew."""
    for label, (first, last) in zip(tree.labels, tree.spans().tolist(), strict=True):
        start, end = places[first], places[last]
        if 1 < end - start < places[-1]:
            yield label, start, end
