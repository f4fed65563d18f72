"""Trees as text: one line for each node, joined by branches. Tests: tests/commands/test_show.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from structkit.structure.trees.tree import Tree


def branches(depths: Sequence[int]) -> list[str]:
    """Return the branches before each node of a tree, whose depths are in preorder.

    >>> for branch, name in zip(branches([0, 1, 2, 1]), "abcd"): print(branch + name)
    a
    ├─ b
    │  └─ c
    └─ d
    """
    drawn = []
    below: list[bool] = []  # at each depth, whether a sibling follows
    for depth in reversed(depths):
        below += [False] * (depth + 1 - len(below))
        lines = "".join("│  " if more else "   " for more in below[1:depth])
        drawn.append(lines + ("├─ " if below[depth] else "└─ ") if depth else "")
        below[depth] = True
        del below[depth + 1 :]
    return drawn[::-1]


def preorder(tree: Tree) -> Iterator[tuple[int, int]]:
    """Yield the nodes of a tree with their depths, each before the nodes below it."""
    waiting = [(0, 0)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting += [(child, depth + 1) for child in reversed(tree.children(node))]


def lines(tree: Tree) -> list[str]:
    r"""Return a tree as text; a missing label is a dot, as are all if every label is `X`.

    >>> from structkit.structure.trees.brackets import read
    >>> print("\n".join(lines(read("(S (NP (DT the) (NN cat)) (VBD slept))"))))
    S
    ├─ NP
    │  ├─ DT the
    │  └─ NN cat
    └─ VBD slept
    >>> lines(read("(X (X the) (X cat))"))
    ['·', '├─ the', '└─ cat']
    """
    labelled = {*tree.labels} != {"X"}
    nodes = list(preorder(tree))
    drawn = branches([depth for _, depth in nodes])
    return [
        branch + name(tree, node, labelled=labelled)
        for branch, (node, _) in zip(drawn, nodes, strict=True)
    ]


def name(tree: Tree, node: int, *, labelled: bool = True) -> str:
    """Return the label of a node, and its word if it is a leaf."""
    label = tree.labels[node] if labelled else ""
    if tree.word[node] < 0:
        return label or "·"
    return f"{label} {tree.words[tree.word[node]]}".strip()
