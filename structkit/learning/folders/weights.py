"""The weights of our own models: `model.safetensors`, whole or refused with one clear error."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from structkit.errors import UserError, flag
from structkit.learning.folders.facts import damaged

WEIGHTS = "model.safetensors"


def write_weights(folder: Path, weights: Mapping[str, NDArray[Any]]) -> None:
    """Write weights by name."""
    whole = {name: np.ascontiguousarray(each) for name, each in weights.items()}
    save_file(whole, folder / WEIGHTS)


def read_weights(folder: Path) -> dict[str, NDArray[Any]]:
    """The weights by name. Errors: `UserError` where the file is missing, cut or damaged."""
    file = folder / WEIGHTS
    try:
        weights: dict[str, NDArray[Any]] = load_file(file)
    except OSError as error:
        reason = error.strerror or "there is no such file"
        raise damaged(f"cannot be read: {reason}", file) from None
    except (SafetensorError, ValueError, KeyError) as error:
        problem = f"is damaged or cut short (safetensors: {error})"
        raise damaged(problem, file) from None
    return weights


def not_finite(folder: Path) -> bool:
    """Whether a weight is known to hold NaN or infinity; not where numpy cannot read them."""
    try:
        with safe_open(folder / WEIGHTS, "np") as weights:
            return not all(np.isfinite(weights.get_tensor(name)).all() for name in weights.keys())
    except (OSError, SafetensorError, TypeError, ValueError):
        return False


def own_weights(folder: Path, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, NDArray[Any]]:
    """The weights of a model of these shapes. Errors: `UserError` where they are not its own."""
    stored, file = read_weights(folder), folder / WEIGHTS
    for name in sorted(stored | dict(shapes)):
        if name not in stored or name not in shapes:
            what = "is missing" if name in shapes else "is of another model"
            raise damaged(f"the weight {name} {what}", file)
        there, wanted = stored[name].shape, shapes[name]
        if there != wanted:
            problem = f"the weight {name} has shape {there}, but the model needs {wanted}"
            raise damaged(problem, file)
        if not np.isfinite(stored[name]).all():
            raise damaged(f"the weight {name} holds numbers that are not finite", file)
    return stored


def spoiled(folder: Path) -> UserError:
    """The error for a model that gives no finite embeddings."""
    remedy = f"train the model again, with a lower {flag('learning_rate')}"
    error = UserError("the model's embeddings hold NaN or infinity", remedy)
    return error.at(str(folder / WEIGHTS))
