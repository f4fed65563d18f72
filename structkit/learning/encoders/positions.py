"""How many tokens a model can read, and how it is made to read more."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from structkit.errors import UserError
from structkit.learning.encoders.pretrained import DAMAGE

LENGTH = 3  # tokens of the text that shows where positions begin


def positions(model: Any) -> int | None:
    """The most tokens that a model can read, None where its positions have no limit.

    What it looks up for a short text says so: the table of its position embeddings, and the row of
    the first token, which many kinds of models leave to the padding. Others have what their
    configuration says.
    """
    config = model.config
    encoder = model.get_encoder() if config.is_encoder_decoder else model
    # not the padding: 0 or 1, or what the configuration says
    token = 3 if getattr(config, "pad_token_id", None) == 2 else 2
    ids = torch.full((1, LENGTH), token, device=next(model.parameters()).device)
    training = model.training
    model.eval()
    looked = LookedUp()  # type: ignore[no-untyped-call]
    try:
        with torch.no_grad(), looked:
            encoder(input_ids=ids, attention_mask=torch.ones_like(ids))
    except DAMAGE:
        pass  # the first text of a user's folder fails in the same way, and says why
    model.train(training)
    if looked.positions or config.is_encoder_decoder:
        return looked.positions
    most: int | None = getattr(config, "max_position_embeddings", None)
    return most if most and most > 0 else None  # XLNet's -1 means any


class LookedUp(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Watches the tables in which a text of equal tokens is looked up.

    `positions` is how many rows the table has from the first token's on whose rows follow each
    other: that of positions, as equal tokens have equal rows everywhere else.
    """

    positions: int | None = None

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func is torch.ops.aten.embedding.default:
            table, rows = args[0], args[1][..., :LENGTH]  # some kinds of models pad
            if rows.shape[-1] == LENGTH and bool((rows.diff() == 1).all()):
                most = len(table) - int(rows.min())
                self.positions = min(most, self.positions or most)
        return func(*args, **(kwargs or {}))


def stretch_positions(model: Any, tokenizer: Any, count: int) -> None:
    """Let a model read `count` tokens, by interpolation of its position embeddings.

    The first quarter stays, so that short texts keep their embeddings; the others are spread over
    the rest. Source: Zhang et al. 2024, "Long-CLIP" (arXiv 2403.15378). Errors: `UserError` for a
    model without position embeddings, or with as many.
    """
    embeddings = getattr(model, "embeddings", None)
    old = getattr(embeddings, "position_embeddings", None)
    most = positions(model)
    if embeddings is None or old is None or most is None:
        raise UserError(
            f"a {model.config.model_type} model has no position embeddings to interpolate",
            "leave --positions out",
        )
    if count < most:
        raise UserError(
            f"--positions {count}: the model reads {most} tokens already",
            "give more, or leave --positions out",
        )
    offset = len(old.weight) - most  # the padding's
    kept = offset + most // 4
    spread = functional.interpolate(
        old.weight.data[kept:].T[None],
        size=offset + count - kept,
        mode="linear",
        align_corners=True,
    )
    table = torch.cat([old.weight.data[:kept], spread[0].T])  # (offset + count, dim)
    rows, width = table.shape
    embeddings.position_embeddings = nn.Embedding(
        rows, width, padding_idx=old.padding_idx, _weight=table
    )
    for name, row in dict(embeddings.named_buffers(recurse=False)).items():
        if name == "position_ids":  # (1, positions), from the first position on
            longer = row[0, 0] + torch.arange(len(table))[None]
        elif name == "token_type_ids":
            longer = torch.zeros(1, len(table), dtype=row.dtype)
        else:
            continue
        embeddings.register_buffer(name, longer, persistent=False)
    model.config.max_position_embeddings += len(table) - len(old.weight)
    tokenizer.model_max_length = count
