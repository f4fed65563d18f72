"""Models computed by torch, of all kinds, and the export of encoders for other runtimes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from structkit import registry
from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError, flag, program
from structkit.extras import require
from structkit.learning.encoders.encoder import Encoder, open_model
from structkit.learning.encoders.export import MODELS, inner_facts, write_graph, write_tokenizers
from structkit.learning.encoding.exported import (
    PLAIN,
    SAMPLE,
    TOKENIZER,
    ExportedEncoder,
    Runtime,
    new_export,
)
from structkit.learning.folders.weights import spoiled
from structkit.learning.span_parser.parser import SpanParser
from structkit.learning.training.devices import (
    chosen_device,
    fastest_matmul,
    has_bf16,
    matmul,
    timed,
)
from structkit.learning.training.module import TorchModel
from structkit.progress import say, waiting
from structkit.records.jsonl import Record

# padded tokens in a batch: few enough for a CPU's cache, enough to keep a GPU busy
CPU_BATCH_TOKENS = 1024
GPU_BATCH_TOKENS = 32768
LONG_TEXT = "Green tea is picked in spring; water of 80 degrees, two minutes. " * 9


class TorchEngine:
    """A model on a device, in inference, at the precision that is fastest there."""

    name = "torch"

    def __init__(self, model: TorchModel, device: str | None, dtype: str) -> None:
        self.model = model.to(chosen_device(device))
        self.on_cpu = self.model.device.type == "cpu"
        bf16 = dtype == "bf16" or dtype == "auto" and has_bf16(self.model.device)
        self.dtype = "bf16" if bf16 else "fp32"
        self.batch_tokens = CPU_BATCH_TOKENS if self.on_cpu else GPU_BATCH_TOKENS
        self.precision: str | None = None
        self.truncation = model.truncation

    @classmethod
    def open(
        cls, name: str, device: str | None, dtype: str, *, offline: bool, **changes: Any
    ) -> tuple[TorchEngine, Record]:
        """The model of a folder, and its facts."""
        model, facts = open_model(name, offline=offline, **changes)
        if isinstance(model, SpanParser):
            remedy = (
                f"use it in {program('parse-trees')}: {flag('parser', 'builtin')}, {flag('model')}"
            )
            raise UserError("the model is a parser and gives no embeddings", remedy)
        if not isinstance(model, TorchModel):
            method = registry.find("method", facts["method"])
            raise method.unusable("its model is no TorchModel")
        return cls(model, device, dtype), facts

    def embeddings(self, inputs: Sequence[Any]) -> Vectors:
        """The embeddings of some inputs, computed together, (inputs, dim)."""
        model, bf16 = self.model, self.dtype == "bf16"
        if self.precision is None:  # the fastest here, found once
            self.precision = fastest_matmul() if self.on_cpu else "highest"
        with (
            matmul(self.precision),
            torch.inference_mode(),
            torch.autocast(model.device.type, torch.bfloat16, enabled=bf16),
        ):
            embedded: Vectors = model.embed(model.batch(inputs)).float().cpu().numpy()
        return embedded


def export(
    engine: TorchEngine, runtime: Runtime, folder: Path, changes: Mapping[str, Any], facts: Record
) -> str:
    """Keep the engine's encoder for a runtime; returns why not, or nothing.

    Errors: `UserError` where the model's embeddings are not finite.
    """
    model = engine.model
    if not isinstance(model, Encoder) or model.model.config.model_type not in MODELS:
        return f"it is not one of {', '.join(MODELS)}"
    require("onnx", runtime.extra)
    exact = TorchEngine(model, str(model.device), "fp32")
    expected = [exact.embeddings([ids]) for ids in model.inputs(SAMPLE, "document")]
    if not all(np.isfinite(rows).all() for rows in expected):
        raise spoiled(folder)
    try:
        with (
            waiting("exporting the model, once"),
            new_export(folder, changes, runtime) as (place, notes),
        ):
            notes |= inner_facts(model)
            notes["runtime"] = runtime.version()
            notes["facts"] = {name: facts[name] for name in facts if name != "folder"}
            with tempfile.TemporaryDirectory(dir=place.parent) as raw:
                graph = Path(raw) / "raw.onnx"
                write_graph(model, graph)
                runtime.write(graph, place, partial(model.inputs, side="document"))
            write_tokenizers(model, place / TOKENIZER, place / PLAIN)
            notes["sample"] = [rows[0].tolist() for rows in expected]
            encoder, notes["agreement"] = open_export(runtime, place, notes)
            notes["agrees"] = notes["agreement"] >= runtime.agreement
            inputs = model.inputs([LONG_TEXT] * 2, "document")
            notes["seconds"] = [
                timed(partial(each.embeddings, inputs))[0] for each in (engine, encoder)
            ]
            model.tokenizing.truncation.clear()
    except UserError as error:
        return error.problem
    except OSError as error:
        say(f"the export of the model cannot be kept: {error.strerror}")
        return f"its export cannot be kept: {error.strerror}"
    return "" if notes["agrees"] else f"its embeddings differ (cosine {notes['agreement']:.6f})"


def open_export(runtime: Runtime, place: Path, notes: Record) -> tuple[ExportedEncoder, float]:
    """The exported encoder, and the lowest cosine of its embeddings to those of torch.

    Errors: `UserError` where the runtime fails on this machine.
    """
    try:
        encoder = ExportedEncoder(runtime, place, notes)
        return encoder, encoder.agreement()
    except Exception as error:  # runtimes have no class of their own for what a processor lacks
        said = " ".join(str(error).split())[-200:]
        raise UserError(
            f"it does not run here ({said})", f"use {flag('engine', 'torch')}"
        ) from None
