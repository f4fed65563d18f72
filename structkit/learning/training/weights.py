"""The weights of our own models: `model.safetensors`, whole or refused with one clear error."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from structkit.learning.training.damage import damaged

WEIGHTS = "model.safetensors"


def write_weights(folder: Path, weights: Mapping[str, Tensor]) -> None:
    """Write weights by name."""
    save_file({name: each.contiguous().cpu() for name, each in weights.items()}, folder / WEIGHTS)


def read_weights(folder: Path) -> dict[str, Tensor]:
    """The weights by name. Errors: `UserError` where the file is missing, empty, cut or no such."""
    file = folder / WEIGHTS
    try:
        weights: dict[str, Tensor] = load_file(file)
    except OSError as error:
        reason = error.strerror or "there is no such file"
        raise damaged(f"cannot be read: {reason}", file) from None
    except (SafetensorError, ValueError) as error:
        problem = f"is damaged or cut short (safetensors: {error})"
        raise damaged(problem, file) from None
    return weights


def fill(module: nn.Module, folder: Path) -> None:
    """Give a module the weights in a folder. Errors: `UserError` where they are not its own."""
    stored, own = read_weights(folder), module.state_dict()
    for name in sorted(stored | own):
        if name not in stored or name not in own:
            what = "is missing" if name in own else "is of another model"
            raise damaged(f"the weight {name} {what}", folder / WEIGHTS)
        there, wanted = tuple(stored[name].shape), tuple(own[name].shape)
        if there != wanted:
            problem = f"the weight {name} has shape {there}, and the model needs {wanted}"
            raise damaged(problem, folder / WEIGHTS)
        if not stored[name].isfinite().all():
            problem = f"the weight {name} holds numbers that are not finite"
            raise damaged(problem, folder / WEIGHTS)
    module.load_state_dict(stored)
