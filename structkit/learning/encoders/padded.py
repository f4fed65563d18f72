"""Token ids of several texts as one batch, padded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Tokens:
    """A batch of token ids and its mask, both (batch, length); the mask is 1 on real tokens."""

    ids: Tensor
    mask: Tensor

    def to(self, device: torch.device) -> Tokens:
        return Tokens(self.ids.to(device), self.mask.to(device))

    def shortened(self, rows: Tensor) -> Tokens:
        """Some rows, only as wide as their longest text."""
        mask = self.mask[rows]
        width = int(mask.sum(1).max())
        return Tokens(self.ids[rows, :width], mask[:, :width])


def padded(ids: Sequence[Sequence[int]], padding: int) -> Tokens:
    """Token ids as one batch, as wide as its longest text.

    Padding is on the right, where causal attention never sees it.
    """
    width = max(1, *map(len, ids))
    rows = [[*row, *[padding] * (width - len(row))] for row in ids]
    mask = [[1] * len(row) + [0] * (width - len(row)) for row in ids]
    return Tokens(torch.tensor(rows), torch.tensor(mask))  # (batch, length) each
