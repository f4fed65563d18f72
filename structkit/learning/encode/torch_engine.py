"""Models computed by torch: all kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from structkit import registry
from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError
from structkit.learning.encoders.model_folder import open_model
from structkit.learning.span_parser.parser import SpanParser
from structkit.learning.training.devices import chosen_device, fastest_matmul, has_bf16, matmul
from structkit.learning.training.module import TorchModel
from structkit.records.jsonl import Record

# padded tokens in a batch: few enough for a CPU's cache, enough to keep a GPU busy
BATCH_TOKENS = {"cpu": 1024}
GPU_BATCH_TOKENS = 32768


class TorchEngine:
    """A model on a device, in inference, at the precision that is fastest there."""

    name = "torch"

    def __init__(self, model: TorchModel, device: str | None, dtype: str) -> None:
        self.model = model.to(chosen_device(device))
        bf16 = dtype == "bf16" or dtype == "auto" and has_bf16(self.model.device)
        self.dtype = "bf16" if bf16 else "fp32"
        self.batch_tokens = BATCH_TOKENS.get(self.model.device.type, GPU_BATCH_TOKENS)
        self.precision: str | None = None
        self.truncation = model.truncation

    @classmethod
    def open(
        cls, name: str, device: str | None, dtype: str, *, offline: bool, **changes: Any
    ) -> tuple[TorchEngine, Record]:
        """The model of a folder, and its facts."""
        model, facts = open_model(name, offline=offline, **changes)
        if isinstance(model, SpanParser):
            raise UserError(
                "the model is a parser and gives no embeddings",
                "use it in parse-trees --parser builtin --model FOLDER",
            )
        if not isinstance(model, TorchModel):
            method = registry.find("method", facts["method"])
            raise method.outdated("its model is no TorchModel")
        return cls(model, device, dtype), facts

    def inputs(self, texts: Sequence[str], side: str) -> Sequence[Any]:
        """Texts as the model reads them."""
        return self.model.inputs(texts, side)

    def embeddings(self, inputs: Sequence[Any]) -> Vectors:
        """The embeddings of some inputs, computed together, (inputs, dim)."""
        model, bf16 = self.model, self.dtype == "bf16"

        def compute() -> Vectors:
            with torch.autocast(model.device.type, torch.bfloat16, enabled=bf16):
                embedded: Vectors = model.embed(model.batch(inputs)).float().cpu().numpy()
            return embedded

        return self._computed(compute)

    def _computed(self, compute: Callable[[], Vectors]) -> Vectors:
        """The result of `compute()` at the precision that is fastest here, found once."""
        if self.precision is None:
            self.precision = fastest_matmul() if self.model.device.type == "cpu" else "highest"
        with matmul(self.precision), torch.inference_mode():
            return compute()
