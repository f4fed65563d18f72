"""Encoders that ONNX Runtime computes, without torch and without a model's code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structkit.extras import require
from structkit.learning.engines.exported import GRAPH, PLAIN, TOKENIZER
from structkit.learning.engines.tokenizer import FastTokenizer
from structkit.learning.training.tokens import Chunk, Tokenizing
from structkit.plugin import Model
from structkit.records.jsonl import Record

EXTRA = "onnx"
AGREEMENT = 0.99999  # the least cosine at which an embedding counts as the same as torch's
SAMPLE = ["a", "Green tea, two cups.", "def add(a, b): return a + b  # <p>café</p> 一二三"]
LONG = "Green tea is picked in spring; water of 80 degrees, two minutes. " * 9
BATCH_TOKENS = 512  # with more, the states of a layer no longer fit in the cache


class OnnxEncoder(Model):
    """An exported encoder: texts to embeddings, as `Encoder` computes them."""

    name = "onnx"
    parts = ("chunk",)
    dtype = "fp32"
    batch_tokens = BATCH_TOKENS
    precision: str | None = "highest"

    def __init__(self, folder: Path, about: Record) -> None:
        self.session = session(folder / GRAPH)
        self.version = about["runtime"]
        padding, split = about["padding"], about["split_special_tokens"]
        plain = folder / PLAIN
        self.tokenizing = Tokenizing(
            FastTokenizer(folder / TOKENIZER, padding, split=split),
            about["lengths"],
            about["prompts"],
            about["mcls_every"],
            plain=FastTokenizer(plain, padding, split=split) if plain.exists() else None,
            positions=about["positions"],
        )
        self.truncation = self.tokenizing.truncation
        self.sample = np.array(about["sample"], np.float32)

    @property
    def model(self) -> OnnxEncoder:
        """The encoder itself: it needs no other."""
        return self

    def inputs(self, texts: Sequence[str], side: str) -> list[list[int]]:
        """Texts as token ids."""
        return self.tokenizing.ids(texts, side)

    def read_field(self, name: str) -> None:
        """Whether texts may have tags is known of the field."""
        self.tokenizing.read_field(name)

    def read_at_most(self, side: str, length: int) -> None:
        """Cut texts of a side to so many tokens."""
        self.tokenizing.read_at_most(side, length)

    def chunks(self, text: str, side: str, size: int) -> list[Chunk]:
        """A text as chunks of `size` tokens."""
        return self.tokenizing.chunks(text, side, size)

    def embeddings(self, inputs: Sequence[list[int] | Chunk]) -> NDArray[np.float32]:
        """The embeddings of some inputs, computed together, (inputs, dim)."""
        ids = [each.ids if isinstance(each, Chunk) else each for each in inputs]
        lengths = np.array([len(row) for row in ids])
        mask = np.arange(lengths.max()) < lengths[:, None]  # (inputs, length)
        padded = np.full(mask.shape, self.tokenizing.padding, np.int64)
        padded[mask] = np.concatenate([np.array(row, np.int64) for row in ids])
        embeddings: NDArray[np.float32]
        (embeddings,) = self.session.run(None, {"ids": padded, "mask": mask.astype(np.int64)})
        return embeddings

    def agreement(self) -> float:
        """The least cosine between its embeddings of sample texts and those of torch."""
        embeddings = self.embeddings(self.inputs(SAMPLE, "document"))
        self.truncation.clear()
        cosines = (embeddings * self.sample).sum(1) / (
            np.linalg.norm(embeddings, axis=1) * np.linalg.norm(self.sample, axis=1)
        )
        return float(np.nan_to_num(cosines).min())

    def agrees(self) -> bool:
        """Whether it computes here what torch computed when the encoder was exported."""
        return self.version == runtime_version() and self.agreement() >= AGREEMENT


def session(graph: Path, *, optimized: Path | None = None) -> Any:
    """A graph, ready to run; with `optimized`, a graph that is optimized now and written there."""
    runtime = onnxruntime()
    runtime.set_default_logger_severity(4)  # it also raises what it logs
    options = runtime.SessionOptions()
    options.intra_op_num_threads = cores()
    # threads that wait by spinning take a processor from other work
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    levels = runtime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_DISABLE_ALL
    if optimized is not None:
        options.graph_optimization_level = levels.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(optimized)
        # weights in a file of their own are mapped, not read: a quarter of the time to open
        weights = "session.optimized_model_external_initializers"
        options.add_session_config_entry(f"{weights}_file_name", optimized.stem + ".bin")
        options.add_session_config_entry(f"{weights}_min_size_in_bytes", "1024")
    return runtime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


def runtime_version() -> str:
    """The version of ONNX Runtime: a graph that one has optimized may not suit another."""
    return str(onnxruntime().__version__)


def onnxruntime() -> Any:
    """ONNX Runtime, without telemetry.

    Its builds have it on by default: it would write into the cache, and send to its makers.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when it is imported
    return require("onnxruntime", EXTRA)


def cores() -> int:
    """How many threads compute: OMP_NUM_THREADS, or the processors that this process may use."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    if said.isdecimal() and int(said):
        return int(said)
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
