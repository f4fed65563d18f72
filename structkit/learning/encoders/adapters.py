"""Adapters (LoRA): two small matrices beside each frozen linear map of a model, by peft.

    W + alpha / rank * B @ A

A and B are trained, (rank, in) and (out, rank); B begins with zeros. Source: Hu et al. 2021 (arXiv
2106.09685). Tests: tests/learning/encoders/test_adapters.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Protocol

from torch import nn
from transformers.pytorch_utils import Conv1D

from structkit.errors import UserError, flag
from structkit.extras import require

# what reads no text, or writes no embedding: outside the layers of an encoder
OUTSIDE = ("pooler", "lm_head")


class LayerSettings(Protocol):
    """How the layers of a model are trained; source: `ChunkSettings`."""

    @property
    def checkpointing(self) -> bool: ...
    @property
    def lora_rank(self) -> int | None: ...
    @property
    def lora_alpha(self) -> float | None: ...
    @property
    def lora_modules(self) -> str | None: ...


class Adapter:
    """The adapter of a model, which is changed in place: all of its own weights are frozen.

    `whole` names modules that are trained themselves. Errors: `UserError` where the extra is not
    installed, the model is no transformer, or has no such linear maps.
    """

    def __init__(self, model: Any, settings: LayerSettings, whole: Sequence[str] = ()) -> None:
        peft = require("peft", "lora")
        rank = settings.lora_rank or 0
        config = peft.LoraConfig(
            r=rank,
            lora_alpha=settings.lora_alpha,
            target_modules=linear_maps(model, settings.lora_modules, whole),
            modules_to_save=list(whole) or None,
        )
        with warnings.catch_warnings(action="ignore"):  # what matters is checked
            self.model = peft.get_peft_model(model, config)

    def save(self, folder: Path) -> None:
        """Write the model with its adapter, as transformers loads it."""
        # of a copy: where the disk is full, training goes on from the adapter
        deepcopy(self.model).merge_and_unload().save_pretrained(folder)


def linear_maps(model: Any, chosen: str | None, outside: Sequence[str] = ()) -> list[str]:
    """Return the paths of a model's linear maps with one of the chosen last names, or of all.

    Errors: `UserError` where there are none, or a name is of no linear map.
    """
    outside = (*OUTSIDE, *outside)
    paths = [
        path
        for path, module in model.named_modules()
        if isinstance(module, nn.Linear | Conv1D) and not {*path.split(".")} & {*outside}
    ]
    names = dict.fromkeys(path.rpartition(".")[2] for path in paths)
    if not names:
        problem = f"{flag('lora_rank')} needs a transformer"
        raise UserError(problem, f"leave {flag('lora_rank')} out")
    asked = [each.strip() for each in (chosen or ",".join(names)).split(",")]
    if unknown := [each for each in asked if each not in names]:
        problem = f"no linear map in the layers of the model is named {unknown[0]!r:.80}"
        remedy = f"choose some for {flag('lora_modules')}: {','.join(names)}"
        raise UserError(problem, remedy)
    return [path for path in paths if path.rpartition(".")[2] in asked]


def heads_of(model: Any) -> list[str]:
    """Return the modules of a classifier that are no layers: they may be new, and are trained."""
    return [
        path
        for path, module in model.named_modules()
        if path and any(True for _ in module.parameters())
        if path.rpartition(".")[2] == "pooler"
        or ("." not in path and path != model.base_model_prefix)
    ]
