"""Leaner replacements for torch operations: vocabulary cross-entropy, the draws of dropout.

The cross-entropy has scores only in blocks of rows, and computes its gradients together with the
loss. StrAE's dropout takes four draws of each random number, in a quarter of `bernoulli_`'s time.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

BLOCK_SCORES = 400_000  # scores in a block: it stays in a CPU's cache
GPU_BLOCK_SCORES = 16 * BLOCK_SCORES  # a GPU has more to do at a time


def vocabulary_loss(
    vectors: Tensor, table: Tensor, bias: Tensor | None, targets: Tensor, weights: Tensor
) -> Tensor:
    """Return the weighted sum of -log softmax of each target among all words: cross-entropy.

    `vectors` is (tokens, E), `table` (words, E), `bias` (words,), the others (tokens,). Source:
    StrAE, eq. 1, with weights 1 / (sentences · length of the sentence).

    >>> vectors, table = torch.tensor([[1.0, 0.0]]), torch.eye(2)
    >>> one = torch.ones(1)
    >>> round(vocabulary_loss(vectors, table, None, torch.tensor([0]), one).item(), 6)
    0.313262
    """
    if not torch.is_grad_enabled():  # a function of torch knows only which inputs could have one
        table, bias = table.detach(), None if bias is None else bias.detach()
    loss: Tensor = _CrossEntropy.apply(vectors, table, bias, targets, weights)  # type: ignore[no-untyped-call]
    return loss


class _CrossEntropy(torch.autograd.Function):
    """One sweep over blocks of tokens: scores, softmax, loss and gradients."""

    @staticmethod
    def forward(
        ctx: Any,
        vectors: Tensor,
        table: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        weights: Tensor,
    ) -> Tensor:
        differentiable = any(ctx.needs_input_grad)
        total = torch.zeros((), dtype=vectors.dtype, device=vectors.device)
        to_vectors = torch.empty_like(vectors)
        columns = table.T.contiguous()  # (E, words)
        to_columns = torch.zeros_like(columns)
        to_bias = torch.zeros_like(bias) if bias is not None and ctx.needs_input_grad[2] else None
        step = max(16, 10 * block_size(vectors.device) // len(table))
        parts = row_slices(len(vectors), step)
        memory = workspace(parts[0].stop * len(table), vectors)
        for part in parts:
            rows = part.stop - part.start
            block = memory[: rows * len(table)].view(rows, -1)  # (rows, words)
            torch.mm(vectors[part], columns, out=block)
            if bias is not None:
                block += bias
            own = block.gather(1, targets[part, None])[:, 0]  # (rows,)
            highest = block.amax(1, keepdim=True)
            block -= highest
            own = own - highest[:, 0]
            sums = block.exp_().sum(1)  # (rows,)
            total += (weights[part] * (sums.log() - own)).sum()
            if not differentiable:
                continue
            # the block is the largest tensor here: scale the small factors instead of its rows
            block.scatter_add_(1, targets[part, None], -sums[:, None])
            scale = weights[part] / sums
            torch.mm(block, table, out=to_vectors[part])
            to_vectors[part] *= scale[:, None]
            to_columns.addmm_((vectors[part] * scale[:, None]).T, block)
            if to_bias is not None:
                to_bias += scale @ block
        if differentiable:
            ctx.save_for_backward(to_vectors, to_columns.T, to_bias)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        vectors, table, bias = ctx.saved_tensors
        return (
            vectors * gradient,
            table * gradient,
            None if bias is None else bias * gradient,
            None,
            None,
        )


def block_size(device: torch.device) -> int:
    """Return the scores in a block that a device computes fast."""
    return BLOCK_SCORES if device.type == "cpu" else GPU_BLOCK_SCORES


def row_slices(rows: int, step: int) -> list[slice]:
    """Divide rows into blocks of `step`."""
    return [slice(first, min(first + step, rows)) for first in range(0, rows, step)]


_WORKSPACES: dict[tuple[torch.device, torch.dtype], Tensor] = {}


def workspace(size: int, like: Tensor) -> Tensor:
    """Return memory for `size` numbers, kept between steps: new pages cost a sixth of one.

    Its content is lost at the next call.
    """
    name = like.device, like.dtype
    if name not in _WORKSPACES or len(_WORKSPACES[name]) < size:
        _WORKSPACES[name] = torch.empty(size, dtype=like.dtype, device=like.device)
    return _WORKSPACES[name]


DRAW_VALUES = 1 << 16  # the share that is dropped is rounded to 16 bits


def draw_kept(shape: Sequence[int], dropout: float, device: torch.device) -> tuple[Tensor, float]:
    """Draw the numbers that dropout keeps, as 0 or 1 of 8 bits, and their factor."""
    count = math.prod(shape)
    bits = torch.empty(-(-count // 4), dtype=torch.int64, device=device)
    draws = bits.random_(-(1 << 63), None).view(torch.int16)[:count].view(*shape)
    dropped = min(round(dropout * DRAW_VALUES), DRAW_VALUES - 1)
    # a product with these is three times as fast as one with booleans
    return (draws >= dropped - DRAW_VALUES // 2).view(torch.uint8), DRAW_VALUES / (
        DRAW_VALUES - dropped
    )
