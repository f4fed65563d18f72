"""The device on which a model computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from structkit.errors import UserError


def chosen_device(name: str | None) -> torch.device:
    """The device of that name, or the fastest one available.

    Errors: `UserError` where it cannot be used.
    """
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"--device {name} cannot be used: {reason}", "use --device cpu", status=2
        ) from None
    return device


@contextmanager
def enough_memory() -> Iterator[None]:
    """Turn a computation's lack of memory into an error with a remedy."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        said = str(error)
        # on a CPU torch has no exception of its own for this
        if not isinstance(error, MemoryError) and "memory" not in said.partition("\n")[0]:
            raise
        raise UserError(
            "there is not enough memory",
            "lower --batch-size, the lengths or the sizes of the model, or set --chunk-size",
        ) from None
