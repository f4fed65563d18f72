"""Models computed by torch, of all kinds, and the export of encoders for other runtimes.

Tests: tests/learning/encoding/test_exported.py.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError, flag
from structkit.extras import require
from structkit.learning.encoders.encoder import Encoder, hidden_states_of, open_model
from structkit.learning.encoders.poolings import Tokens
from structkit.learning.encoding.exported import (
    PLAIN_TOKENIZER_FILE,
    SAMPLE_TEXTS,
    ExportedEncoder,
    Runtime,
    new_export,
)
from structkit.learning.folders import TOKENIZER_FILE, not_finite_error
from structkit.learning.model import Engine, UnreadableText
from structkit.learning.training.devices import (
    TorchModel,
    chosen_device,
    fastest_matmul,
    lacks_memory,
    matmul,
)
from structkit.processes import Result
from structkit.progress import say, waiting
from structkit.records.jsonl import Record

# padded tokens in a batch: few enough for a CPU's cache, enough to keep a GPU busy
CPU_BATCH_TOKENS = 1024
GPU_BATCH_TOKENS = 32768
# kinds of models whose graphs were checked against torch
EXPORTED_MODEL_TYPES = ("bert", "camembert", "roberta", "t5", "xlm-roberta")


class TorchEngine(Engine):
    """A model on a device, in inference, at the precision that is fastest there."""

    name = "torch"

    def __init__(self, model: TorchModel, device: str | None, dtype: str) -> None:
        if dtype == "bf16" and not isinstance(model, Encoder):
            say("only transformers compute in bfloat16; this model computes in float32")
            dtype = "fp32"
        target = chosen_device(device)
        self.on_cpu = target.type == "cpu"
        self.dtype = dtype
        self.native = dtype == "bf16" and not self.on_cpu
        if isinstance(model, Encoder) and self.native:
            model.model.to(torch.bfloat16)  # before the move: the GPU never holds all in float32
        self.model: TorchModel = model.to(target)
        self.fitting_tokens = 1 << 62  # padded tokens that fit into memory, as far as is known
        self.batch_tokens = CPU_BATCH_TOKENS if self.on_cpu else GPU_BATCH_TOKENS
        self.precision = None

    @classmethod
    def open(
        cls, name: str, device: str | None, dtype: str, *, offline: bool, **changes: Any
    ) -> tuple[TorchEngine, Record]:
        """Open the model of a folder, and return it with its metadata."""
        model, metadata = open_model(name, offline=offline, **changes)
        if not isinstance(model, TorchModel):  # a parser is none
            raise UserError(
                f"a model of train {metadata['method']} gives no embeddings",
                "name an encoder, or a model of trees",
            )
        return cls(model, device, dtype), metadata

    def embeddings(self, inputs: Sequence[Any]) -> Vectors:
        """Return the embeddings of some inputs, computed together, (inputs, dim)."""
        return np.stack(self._compute_in_parts(inputs, self._embed))

    def token_rows(self, inputs: Sequence[Any], side: str) -> list[Vectors]:
        """Return the rows of the tokens of each input of a side, (rows, dim) each."""
        model = self.model
        assert isinstance(model, Encoder)

        def compute_rows(part: Sequence[Any]) -> list[Vectors]:
            vectors, has_row = self._infer(lambda: model.rows(model.batch(part), side))
            pairs = zip(vectors.float(), has_row, strict=True)
            return [text_rows[is_row].cpu().numpy() for text_rows, is_row in pairs]

        return self._compute_in_parts(inputs, compute_rows)

    def _compute_in_parts(
        self, inputs: Sequence[Any], compute: Callable[[Sequence[Any]], Iterable[Vectors]]
    ) -> list[Vectors]:
        """Return what is computed for each of the inputs: all together, or in parts.

        If memory is too small, half of them are computed at a time. Errors: one is too large.
        """
        longest = max(1, *map(len, inputs))
        size = min(len(inputs), max(1, self.fitting_tokens // longest))
        while True:
            try:
                return [
                    vectors
                    for start in range(0, len(inputs), size)
                    for vectors in compute(inputs[start : start + size])
                ]
            except (MemoryError, RuntimeError) as error:
                if not lacks_memory(error):
                    if not (isinstance(self.model, Encoder) and self.model.mixes_padding):
                        raise
                    # as Funnel, whose layers halve the states of an empty text to none
                    shortest = min(map(len, inputs))
                    sizes = f"{shortest} to {longest}" if shortest < longest else longest
                    raise UnreadableText(
                        f"the model cannot read a text of {sizes} tokens",
                        "leave it out, or use another model",
                    ) from None
            if self.model.device.type == "cuda":
                torch.cuda.empty_cache()  # frees blocks of other sizes
            if size == 1:
                raise UnreadableText(
                    f"there is not enough memory for a text of {longest:,} tokens",
                    f"lower {flag('length')}, or use a smaller model",
                )
            size = -(-size // 2)
            self.fitting_tokens = size * longest
            say(
                f"there is not enough memory: {self.fitting_tokens:,} tokens are computed at a time"
            )

    def _embed(self, inputs: Sequence[Any]) -> Vectors:
        embedded = self._infer(lambda: self.model.embed(self.model.batch(inputs)))
        numbers: Vectors = embedded.float().cpu().numpy()
        return numbers

    def _infer(self, compute: Callable[[], Result]) -> Result:
        """Return what the model computes, without gradients, in its precision."""
        model = self.model
        bf16 = self.dtype == "bf16" and not self.native
        if self.precision is None:  # the fastest here, found once
            precision = "high" if isinstance(model, Encoder) else "highest"
            self.precision = fastest_matmul() if self.on_cpu else precision
            if bf16:
                # autocast would cast them for every batch: a sixth of the time
                for part in model.modules():
                    if type(part) is nn.Linear:
                        part.to(torch.bfloat16)
        with (
            matmul(self.precision),
            torch.inference_mode(),
            torch.autocast(model.device.type, torch.bfloat16, enabled=bf16),
        ):
            return compute()


def export(
    engine: TorchEngine,
    runtime: Runtime,
    folder: Path,
    changes: Mapping[str, Any],
    metadata: Record,
) -> str:
    """Keep the engine's encoder for a runtime; returns why not, or nothing.

    Errors: `UserError` where the model's embeddings are not finite.
    """
    model = engine.model
    if not isinstance(model, Encoder) or model.model.config.model_type not in EXPORTED_MODEL_TYPES:
        return f"it is not one of {', '.join(EXPORTED_MODEL_TYPES)}"
    require("onnx", runtime.extra)
    exact = TorchEngine(model, str(model.device), "fp32")
    expected = [exact.embeddings([ids]) for ids in model.inputs(SAMPLE_TEXTS, "document")]
    if not all(np.isfinite(vectors).all() for vectors in expected):
        raise not_finite_error(folder)
    tokenizing = model.tokenizing
    try:
        with (
            waiting("exporting the model, once"),
            new_export(folder, changes, runtime) as (export_folder, notes),
        ):
            notes |= {
                "tokenizing": tokenizing.settings(),
                "split_special_tokens": tokenizing.tokenizer.encode_special_tokens,
                "runtime": runtime.version(),
                "metadata": {name: metadata[name] for name in metadata if name != "folder"},
                "sample": [vectors[0].tolist() for vectors in expected],
            }
            with tempfile.TemporaryDirectory(dir=export_folder.parent) as raw:
                graph = Path(raw) / "raw.onnx"
                write_graph(model, graph)
                runtime.write(graph, export_folder)
            tokenizing.tokenizer.save(str(export_folder / TOKENIZER_FILE))
            if tokenizing.plain is not tokenizing.tokenizer:
                tokenizing.plain.save(str(export_folder / PLAIN_TOKENIZER_FILE))
            agreement = _agreement(runtime, export_folder, notes)
            notes["agrees"] = agreement >= runtime.agreement
    except UserError as error:
        return error.problem
    except OSError as error:
        say(f"the export of the model cannot be kept: {error.strerror}")
        return f"its export cannot be kept: {error.strerror}"
    finally:
        tokenizing.truncation.drain()  # those texts were not a user's
    return "" if notes["agrees"] else f"its embeddings differ (cosine {agreement:.6f})"


class _Embedding(nn.Module):
    """The graph: ids and mask to embeddings, (batch, dim)."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        encoder, tokens = self.encoder, Tokens(ids, mask)
        return encoder.pooled(hidden_states_of(encoder.model, tokens), tokens)


def write_graph(encoder: Encoder, file: Path) -> None:
    """Write the ONNX graph from token ids and their mask, (batch, length) each, to embeddings."""
    model = encoder.model
    tokens = encoder.batch([[5, 6, 7, 8], [5, 6, 7]])
    inputs = {"ids": tokens.ids, "mask": tokens.mask}
    axes = {0: "batch", 1: "length"}
    attention = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        # about shapes that are the same for every text
        with warnings.catch_warnings(action="ignore"):
            torch.onnx.export(
                _Embedding(encoder).eval(),
                tuple(inputs.values()),
                str(file),
                input_names=list(inputs),
                output_names=["embeddings"],
                dynamic_axes={**dict.fromkeys(inputs, axes), "embeddings": {0: "batch"}},
                dynamo=False,
            )
    finally:
        model.set_attn_implementation(attention)


def _agreement(runtime: Runtime, folder: Path, notes: Record) -> float:
    """Return an export's lowest cosine to torch. Errors: it does not run here."""
    try:
        return ExportedEncoder(runtime, folder, notes).agreement()
    except Exception as error:  # runtimes have no exception class for a processor's lack
        reason = " ".join(str(error).split())[-200:]
        raise UserError(
            f"it does not run here ({reason})", f"use {flag('engine', 'torch')}"
        ) from None
