"""Self-StrAE's trees: merge the most similar neighbors, again and again, in all sentences at once.

Source: Opper et al. 2023, appendix B, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from structkit.learning.strae.losses import unit
from structkit.learning.strae.sentences import Sentence
from structkit.structure.trees.tree import Ints

TIE = 1e-6  # similarities closer than this are equal, and the leftmost pair wins


# of left and right children (n, E) and their keys (n,): the parents and their keys
Composing = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def induced(
    sentences: Sequence[Sentence], leaves: Tensor, keys: Tensor, compose: Composing
) -> list[Sentence]:
    """The sentences with the trees that greedy merging gives them.

    `leaves` (leaves, E) are the embeddings in the order of the text, sentence after sentence;
    `keys` (leaves,) are whole numbers by which `compose` identifies them.
    """
    lengths = np.array([len(sentence) for sentence in sentences])
    # longest first: the sentences that still merge are the first ones
    order = np.argsort(-lengths, kind="stable")
    starts = (np.cumsum(lengths) - lengths)[order]
    with torch.no_grad():
        frontier = _Frontier(lengths[order], starts, leaves, keys)
        merges = [frontier.merge(compose) for _ in range(int(lengths.max()) - 1)]
    depths = _depths(lengths[order], merges)
    return [
        Sentence(sentences[place].ids, depths[rank, : lengths[place]])
        for place, rank in enumerate(np.argsort(order))
    ]


class _Frontier:
    """What is left to merge: for each sentence a row of slots, linked to their neighbors.

    A merge puts the new node into the slot of its left child; that of the right child is dead. The
    first slot of a row and the one after the sentence are walls, which are similar to nothing.
    """

    def __init__(
        self,
        lengths: NDArray[np.int64],
        starts: NDArray[np.int64],
        leaves: Tensor,
        keys: Tensor,
    ) -> None:
        device, self.width = leaves.device, int(lengths[0]) + 2
        column = np.arange(self.width)
        real = (column >= 1) & (column <= lengths[:, None])  # (sentences, width)
        leaf = np.where(real, starts[:, None] + column - 1, 0).ravel()
        wall = np.where(real, 0.0, -np.inf).ravel()
        places = torch.from_numpy(leaf).to(device)  # (slots,)
        self.wall = torch.from_numpy(wall).to(leaves)  # (slots,) added to a similarity
        self.vectors, self.keys = leaves[places], keys[places]  # (slots, E), (slots,)
        self.units = unit(self.vectors)
        slots = torch.arange(len(leaf), device=device)
        self.left, self.right = slots - 1, slots + 1
        self.row = slots[:: self.width]  # (sentences,)
        # of a slot with its right neighbor
        self.similar = self.wall.clone()
        self.similar[:-1] += (self.units[:-1] * self.units[1:]).sum(1) + self.wall[1:]
        steps = np.arange(self.width - 3)
        self.active = (lengths[:, None] - 1 > steps).sum(0).tolist()
        self.step = 0

    def merge(self, compose: Composing) -> tuple[Tensor, Tensor]:
        """Merge a pair in every sentence that has one; returns its left and right slots."""
        active = self.active[self.step]
        self.step += 1
        row = self.row[:active]
        similar = self.similar.view(-1, self.width)[:active]
        best = similar.amax(1, keepdim=True)
        place = (similar >= best - TIE).to(torch.uint8).argmax(1)  # the first of the best
        left = row + place
        right = self.right[left]
        vectors, keys = self.vectors, self.keys
        made, keys[left] = compose(vectors[left], vectors[right], keys[left], keys[right])
        units = unit(made)
        self.vectors[left], self.units[left] = made, units
        before, after = self.left[left], self.right[right]
        self.right[left], self.left[after] = after, left
        self.similar[right] = -torch.inf
        neighbors = torch.stack([before, after])  # (2, active)
        similar = (self.units[neighbors] * units).sum(2) + self.wall[neighbors]
        self.similar[torch.stack([before, left])] = similar
        return place, right - row


def _depths(lengths: NDArray[np.int64], merges: Sequence[tuple[Tensor, Tensor]]) -> Ints:
    """The depth of every leaf, (sentences, longest), from the merges in their order."""
    depths = np.zeros((len(lengths), int(lengths[0])), np.int32)
    if not merges:
        return depths
    ends = np.cumsum([len(left) for left, _ in merges])[:-1]
    both = torch.cat([torch.stack(pair) for pair in merges], 1).cpu().numpy() - 1  # without wall
    for left, right in reversed(np.split(both, ends, 1)):
        sentence = np.arange(len(left))
        # the node in the left slot becomes two, a level deeper
        depths[sentence, left] += 1
        depths[sentence, right] = depths[sentence, left]
    return depths
