"""Modules of sentence-transformers after a pooling: Dense and Normalize.

Tests: tests/learning/encoders/test_santa.py.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from structkit.learning.folders import (
    CONFIG_FILE,
    WEIGHTS_FILE,
    check_regular,
    damage_error,
    pickle_error,
    read_json,
    read_weights,
    write_weights,
)
from structkit.learning.metadata import TEXT_OUTPUT, OddModel, explain_malformed
from structkit.records.output import write_json

ACTIVATIONS = ("Tanh", "Identity", "ReLU", "GELU", "SiLU", "Sigmoid")  # in torch.nn
ACTIVATION_MODULES = ("torch.nn", "torch.nn.modules.activation", "torch.nn.modules.linear")
DENSE_SETTINGS = ("in_features", "out_features", "bias", "activation_function")  # of a Dense


class Normalize(nn.Module):
    """Scales embeddings to length 1."""

    def forward(self, embeddings: Tensor) -> Tensor:
        return functional.normalize(embeddings, dim=-1)


class Dense(nn.Module):
    """A linear map of embeddings and an activation."""

    def __init__(self, config: dict[str, Any], activation: nn.Module) -> None:
        super().__init__()
        self.config = {key: config[key] for key in DENSE_SETTINGS if key in config}
        self.activation = activation
        given, made = config["in_features"], config["out_features"]
        self.linear = nn.Linear(given, made, bias=config.get("bias", True))

    def forward(self, embeddings: Tensor) -> Tensor:
        made: Tensor = self.activation(self.linear(embeddings))
        return made

    @classmethod
    def read(cls, folder: Path, end: str) -> Dense:
        """Read the module in a folder, whose input and output is `end`, where it names them.

        Errors: a damaged file, or `OddModel`.
        """
        check_regular(folder)
        config = read_json(folder / CONFIG_FILE)
        with explain_malformed(f"{CONFIG_FILE} of {folder}"):
            activation = activation_of(config.get("activation_function"), folder)
            ends = (config.get(f"module_{end}_name") for end in ("input", "output"))
            if config.get("use_residual") or {*ends} - {None, end}:
                raise OddModel(folder, "adds its input, or reads another one")
            with torch.device("meta"):  # it takes no memory before its weights are known to fit
                dense = cls(config, activation)
        if not (folder / WEIGHTS_FILE).exists() and (
            refused := pickle_error(str(folder), os.listdir(folder))
        ):
            raise refused
        try:
            dense.load_state_dict(read_weights(folder, load_file), assign=True)
        except RuntimeError:
            raise damage_error(
                f"holds other weights than {CONFIG_FILE} says", folder / WEIGHTS_FILE
            ) from None
        return dense.float()

    def write(self, folder: Path) -> None:
        """Write the module as sentence-transformers reads it."""
        write_json(folder / CONFIG_FILE, self.config)
        weights = self.state_dict().items()
        write_weights(folder, {name: each.detach().cpu().numpy() for name, each in weights})


def activation_of(path: str | None, folder: Path) -> nn.Module:
    """Return the activation of that name, Tanh where there is none. Errors: an unknown one."""
    home, _, name = (path or "torch.nn.Tanh").rpartition(".")
    if home not in ACTIVATION_MODULES or name not in ACTIVATIONS:
        raise OddModel(folder, f"has the activation {path:.80}")
    made: nn.Module = getattr(nn, name)()
    return made


def read_head(modules: Sequence[tuple[str, Path]], end: str = TEXT_OUTPUT) -> nn.Sequential:
    """Return the modules after a pooling, or after the states of tokens, from kinds and folders."""
    return nn.Sequential(
        *(Dense.read(place, end) if kind == "Dense" else Normalize() for kind, place in modules)
    )
