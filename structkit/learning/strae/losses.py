"""The contrastive objective of StrAE over all nodes.

Scores exist only in blocks of rows, and the gradients are computed together with the loss.

Tests: tests/learning/strae/test_strae.py.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import normalize

from structkit.learning.training.autograd import block_size, row_slices, workspace

MAX_KEPT_BYTES = 256 << 20  # of exponentials between two sweeps; more are computed twice
MIN_LENGTH = 1e-8  # shorter vectors are not scaled up to length 1


def contrastive_loss(up: Tensor, down: Tensor, scale: float, same: Tensor | None = None) -> Tensor:
    """Return the mean -log softmax of nodes' own scores, over their rows and columns.

    `up` and `down` are (nodes, E); scores are cosines times `scale`, 1 / temperature. Nodes with
    equal numbers in `same` (nodes,) are not negatives of each other. Source: StrAE, eq. 2.

    >>> eye = torch.eye(2)
    >>> round(contrastive_loss(eye, eye, 1.0).item(), 6)  # log(1 + exp(-1)), both ways
    0.313262
    """
    loss: Tensor = _Contrastive.apply(  # type: ignore[no-untyped-call]
        normalize(up, eps=MIN_LENGTH), normalize(down, eps=MIN_LENGTH), scale, same
    )
    return loss


class _Contrastive(torch.autograd.Function):
    """Two sweeps over blocks of rows: the sums of rows and columns, then the gradients."""

    @staticmethod
    def forward(ctx: Any, up: Tensor, down: Tensor, scale: float, same: Tensor | None) -> Tensor:
        scores = ScoreBlocks(up, down, scale, same, keep=any(ctx.needs_input_grad))
        rows, columns = scores.log_sums()  # (nodes,) each
        own = (up * down).sum(1) * scale  # (nodes,)
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(*scores.gradients(rows, columns))
        return (rows + columns - 2 * own).sum() / (2 * len(up))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        up, down = ctx.saved_tensors
        return up * gradient, down * gradient, None, None


class ScoreBlocks:
    """scale · up · downᵀ in blocks of rows, and the softmax of its rows and columns.

    No score is greater than the scale, up to 40: exp(score) neither overflows nor vanishes, so no
    maximum is subtracted, and one exponential serves its row and its column.
    """

    def __init__(
        self, up: Tensor, down: Tensor, scale: float, same: Tensor | None, *, keep: bool
    ) -> None:
        self.up, self.down, self.scale, self.same = up, down, scale, same
        self.columns = (down * scale).T.contiguous()  # (E, nodes)
        nodes = len(up)
        step = max(16, block_size(up.device) // nodes)
        self.blocks = row_slices(nodes, step)
        self.keep = keep and nodes * nodes * up.element_size() <= MAX_KEPT_BYTES
        self.memory = workspace(nodes * (nodes if self.keep else min(step, nodes)), up)

    def block(self, rows: slice) -> Tensor:
        """Return the exponentials of the scores of some rows, (rows, nodes)."""
        scores = torch.mm(self.up[rows], self.columns, out=self.place(rows)).exp_()
        if self.same is not None:
            excluded = self.same[rows, None] == self.same  # (rows, nodes)
            own = torch.arange(rows.start, rows.stop, device=scores.device)
            excluded[own - rows.start, own] = False
            scores.masked_fill_(excluded, 0.0)
        return scores

    def place(self, rows: slice) -> Tensor:
        """Return the memory for a block, (rows, nodes): its own place if all are kept."""
        nodes = len(self.up)
        first = rows.start * nodes if self.keep else 0
        return self.memory[first : first + (rows.stop - rows.start) * nodes].view(-1, nodes)

    def log_sums(self) -> tuple[Tensor, Tensor]:
        """Return the log sums of exponentials along rows and along columns, (nodes,)."""
        rows, columns = torch.empty_like(self.up[:, 0]), torch.zeros_like(self.up[:, 0])
        for part in self.blocks:
            block = self.block(part)
            torch.sum(block, 1, out=rows[part])
            columns += block.sum(0)
        return rows.log(), columns.log()

    def gradients(self, rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of the loss with respect to `up` and `down`, (nodes, E) each."""
        share = self.scale / (2 * len(self.up))
        up, down = torch.empty_like(self.up), self.up.T * (-2 * share)  # (nodes, E), (E, nodes)
        by_row, by_column = share * (-rows).exp()[:, None], share * (-columns).exp()
        factors = torch.empty(self.blocks[0].stop, len(rows), dtype=up.dtype, device=up.device)
        for part in self.blocks:
            weights = self.place(part) if self.keep else self.block(part)
            factor = factors[: len(weights)]
            weights *= torch.add(by_row[part], by_column, out=factor)  # (rows, nodes)
            torch.mm(weights, self.down, out=up[part])
            down.addmm_(self.up[part].T, weights)  # faster than its transpose
        return up.sub_(self.down, alpha=2 * share), down.T
