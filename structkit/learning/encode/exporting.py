"""The export of an encoder for a runtime, and the check of its results."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from structkit.errors import UserError
from structkit.extras import require
from structkit.learning.encode.batches import spoiled
from structkit.learning.encode.torch_engine import TorchEngine
from structkit.learning.encoders.encoder import Encoder
from structkit.learning.encoders.export import MODELS, inner_facts, write_graph, write_tokenizers
from structkit.learning.engines.exported import PLAIN, TOKENIZER, keeping
from structkit.learning.engines.exported_encoder import LONG, SAMPLE, ExportedEncoder
from structkit.learning.engines.runtime import Runtime
from structkit.learning.training.devices import timed
from structkit.progress import say, waiting
from structkit.records.jsonl import Record


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
            keeping(folder, changes, runtime) as (place, about),
        ):
            about |= inner_facts(model)
            about["runtime"] = runtime.version()
            about["facts"] = {name: facts[name] for name in facts if name != "folder"}
            with tempfile.TemporaryDirectory(dir=place.parent) as raw:
                graph = Path(raw) / "raw.onnx"
                write_graph(model, graph)
                runtime.write(graph, place, partial(model.inputs, side="document"))
            write_tokenizers(model, place / TOKENIZER, place / PLAIN)
            about["sample"] = [rows[0].tolist() for rows in expected]
            encoder, about["agreement"] = tried(runtime, place, about)
            about["agrees"] = about["agreement"] >= runtime.agreement
            inputs = model.inputs([LONG] * 2, "document")
            about["seconds"] = [
                timed(partial(each.embeddings, inputs))[0] for each in (engine, encoder)
            ]
            model.tokenizing.truncation.clear()
    except UserError as error:
        return error.problem
    except OSError as error:
        say(f"the export of the model cannot be kept: {error.strerror}")
        return f"its export cannot be kept: {error.strerror}"
    return "" if about["agrees"] else f"its embeddings differ (cosine {about['agreement']:.6f})"


def tried(runtime: Runtime, place: Path, about: Record) -> tuple[ExportedEncoder, float]:
    """The exported encoder, and the least cosine of its embeddings to those of torch.

    Errors: `UserError` where the runtime fails on this machine.
    """
    try:
        encoder = ExportedEncoder(runtime, place, about)
        return encoder, encoder.agreement()
    except Exception as error:  # runtimes have no class of their own for what a processor lacks
        said = " ".join(str(error).split())[-200:]
        raise UserError(f"it does not run here ({said})", "use --engine torch") from None
