"""Any composition up and any decomposition down the trees of a batch, one depth at a time.

For models whose functions autograd differentiates; a node has a state of S numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from structkit.learning.strae.batches import TreeBatch


@dataclass(frozen=True)
class Level:
    """The nodes of one depth: `first` to `last` in the batch's order, leaves and inner nodes."""

    first: int
    last: int
    leaves: slice  # of `batch.leaves`
    inner: Tensor  # (inner,) their places among the nodes of the depth
    order: Tensor  # (nodes,) brings leaves, then inner nodes, into the order of the nodes


def levels(batch: TreeBatch) -> Iterator[Level]:
    """All depths of a batch, from the roots down."""
    first, last, leaf = 0, batch.sentences, 0
    for start, end in [*batch.levels, (0, 0)]:
        inner = batch.inner[start:end] - first
        leaves = slice(leaf, leaf + last - first - len(inner))
        places = torch.cat([batch.leaves[leaves] - first, inner])
        yield Level(first, last, leaves, inner, places.argsort())
        first, last, leaf = last, last + 2 * len(inner), leaves.stop


def upward(batch: TreeBatch, leaves: Tensor, compose: Callable[[Tensor], Tensor]) -> Tensor:
    """The states of all nodes (nodes, S), from those of `batch.leaves` (leaves, S).

    `compose` makes parents (n, S) from their children (n, 2, S), left and right.
    """
    bottom_up: list[Tensor] = []
    below = leaves[:0]
    for level in reversed(list(levels(batch))):
        here = leaves[level.leaves]
        if len(below):
            here = torch.cat([here, compose(below.view(-1, 2, below.shape[1]))])
        below = here[level.order]
        bottom_up.append(below)
    return torch.cat(bottom_up[::-1])


def downward(
    batch: TreeBatch, roots: Tensor, decompose: Callable[[Tensor, slice], Tensor]
) -> Tensor:
    """The states of all nodes (nodes, S), from those of the roots (sentences, S).

    `decompose` makes children (n, 2, S), left and right, from their parents (n, S); it also gets
    the slice of these children in the batch.
    """
    down = [roots]
    for level in levels(batch):
        if len(level.inner):
            children = slice(level.last, level.last + 2 * len(level.inner))
            down.append(decompose(down[-1][level.inner], children).flatten(0, 1))
    return torch.cat(down)
