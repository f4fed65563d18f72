"""Adapters (LoRA): two small matrices beside each frozen linear map of a model, by peft.

    W + alpha / rank * B @ A

A and B are trained, (rank, in) and (out, rank); B begins with zeros. Source: Hu et al. 2021 (arXiv
2106.09685). Tests: tests/learning/encoders/test_adapters.py.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Protocol

from safetensors import safe_open
from torch import nn
from transformers.pytorch_utils import Conv1D

from structkit.errors import UserError, flag
from structkit.extras import require
from structkit.learning.encoders.pretrained import SAFE, damage_explained
from structkit.learning.folders import (
    ADAPTER,
    base_of,
    check_regular,
    content_hash,
    damaged,
    json_of,
    model_folder,
    pickled,
)
from structkit.learning.metadata import has_metadata, own_metadata, read_metadata

WEIGHTS = "adapter_model.safetensors"
DEFAULT = "default"  # peft's name of an adapter
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
    @property
    def keep_adapter(self) -> bool: ...
    @property
    def start(self) -> str | None: ...


class Adapter:
    """The adapter of a model, which is changed in place: all of its own weights are frozen.

    `whole` names modules that are trained themselves. Errors: `UserError` where the extra is not
    installed, the model is no transformer, or has no such linear maps.
    """

    def __init__(self, model: Any, settings: LayerSettings, whole: Sequence[str] = ()) -> None:
        peft = require("peft", "lora")
        rank = settings.lora_rank or 0
        self.start = settings.start or ""
        self.keep = settings.keep_adapter
        if self.keep:
            if base_of(place := model_folder(self.start, offline=True)):
                remedy = f"leave {flag('keep_adapter')} out: the new model then holds both"
                raise UserError(f"the start model {place} is an adapter itself", remedy)
        config = peft.LoraConfig(
            r=rank,
            lora_alpha=settings.lora_alpha,
            target_modules=linear_maps(model, settings.lora_modules, whole),
            modules_to_save=list(whole) or None,
        )
        with warnings.catch_warnings(action="ignore"):  # what matters is checked
            self.model = peft.get_peft_model(model, config)

    def save(self, folder: Path) -> None:
        """Write the adapter alone, or the model with it, as transformers loads it."""
        if not self.keep:
            # of a copy: where the disk is full, training goes on from the adapter
            deepcopy(self.model).merge_and_unload().save_pretrained(folder)
            return
        config = self.model.peft_config[DEFAULT]
        config.base_model_name_or_path = base_name(self.start, folder)
        config.target_modules = sorted(config.target_modules)  # a set has another order each time
        # embeddings are frozen; to find out, peft would ask the hub for the base
        self.model.save_pretrained(folder, save_embedding_layers=False)


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


def base_name(start: str, folder: Path) -> str:
    """Return how an adapter in a folder names its base: a place beside it, or the model's name.

    The folder of a run lies beside the final one: what is relative to one is so to the other.
    """
    if not os.path.isdir(start):
        return start
    return os.path.relpath(os.path.realpath(start), os.path.realpath(folder.parent))


def transformer_of(folder: Path) -> Path:
    """Return the folder with a model's own weights: of an adapter, its base's."""
    base = base_of(folder)
    if base is None:
        return folder
    place: Path = own_metadata(base).get("transformer", base)
    return place


def check_base(folder: Path) -> None:
    """Raise if an adapter of ours was trained on another base than the one that is there."""
    known = read_metadata(folder)["data"].get("start") if has_metadata(folder) else None
    base = base_of(folder)
    if known and base and known != content_hash(base):
        problem = f"the base model {base} of the adapter {folder} is not the one it was trained on"
        raise UserError(problem, "put that one back, or train the adapter again")


def merge(model: Any, folder: Path) -> Any:
    """Return a base model with the adapter in a folder merged into its weights.

    Errors: `UserError` for another kind of adapter, for one of another model, and for damage.
    """
    peft = require("peft", "lora")
    check_regular(folder)
    check_base(folder)
    kind = (json_of(folder / ADAPTER) or {}).get("peft_type")
    if kind != "LORA":
        problem = f"the adapter {folder} is of the kind {kind!s:.80}, and structkit reads LORA"
        raise UserError(problem, "merge it into its base (merge_and_unload of peft)")
    if not (folder / WEIGHTS).exists():
        missing = damaged("is missing", folder / WEIGHTS)
        raise pickled(str(folder), os.listdir(folder)) or missing
    with damage_explained(folder), warnings.catch_warnings(action="ignore"):
        # no memory for weights that the file does not have
        adapted = peft.PeftModel.from_pretrained(model, str(folder), low_cpu_mem_usage=True, **SAFE)
        with safe_open(folder / WEIGHTS, "pt") as weights:
            stored = {*weights.keys()}
        known = {*peft.get_peft_model_state_dict(adapted, save_embedding_layers=False)}
        # an encoder alone has no use for the decoder's
        parts = {name for name, _ in model.named_children()}
        other = {each for each in stored - known if each.split(".")[2] in parts}
        if wrong := sorted((known - stored) | (other or (set() if known else stored))):
            raise damaged(f"does not fit its base model ({wrong[0]}, …)", folder / WEIGHTS)
        return adapted.merge_and_unload()
