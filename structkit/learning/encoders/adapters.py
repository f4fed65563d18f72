"""Adapters (LoRA): two small matrices beside each frozen linear map of a model, by peft.

    W + 2 * B @ A

A and B are trained, (rank, in) and (out, rank); B begins with zeros. Source: Hu et al. 2021 (arXiv
2106.09685). Tests: tests/learning/encoders/test_adapters.py.
"""

import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any

from structkit.errors import UserError, flag
from structkit.extras import require

# what reads no text, or writes no embedding: outside the layers of an encoder
MODULES_WITHOUT_ADAPTER = r"(.*\.)?(pooler|lm_head)(\..*)?"


class Adapter:
    """The adapter of a model, which is changed in place: all of its own weights are frozen.

    Errors: `UserError` where the extra is not installed, or the model is no transformer.
    """

    def __init__(self, model: Any, rank: int) -> None:
        peft = require("peft", "lora")
        kinds = {"target_modules": "all-linear", "exclude_modules": MODULES_WITHOUT_ADAPTER}
        try:
            with warnings.catch_warnings(action="ignore"):
                config = peft.LoraConfig(r=rank, lora_alpha=2 * rank, **kinds)
                self.model = peft.get_peft_model(model, config)
        except ValueError:
            raise UserError(
                f"{flag('lora_rank')} needs a transformer", f"leave {flag('lora_rank')} out"
            ) from None

    def save(self, folder: Path) -> None:
        """Write the model with its adapter, as transformers loads it."""
        # of a copy: where the disk is full, training goes on from the adapter
        deepcopy(self.model).merge_and_unload().save_pretrained(folder)
