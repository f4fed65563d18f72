"""Where a model computes."""

from __future__ import annotations

import torch

from structkit.errors import UserError


def chosen_device(name: str | None) -> torch.device:
    """The device of that name, or the fastest one there is.

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
            f"--device {name} cannot be used: {reason}", "--device cpu works everywhere", status=2
        ) from None
    return device
