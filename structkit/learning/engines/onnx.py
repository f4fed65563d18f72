"""ONNX Runtime."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structkit.extras import require
from structkit.learning.engines.runtime import Compute, Read, threads

GRAPH = "embeddings.onnx"


class Onnx:
    """ONNX Runtime, in float32."""

    name, package, extra, dtype, agreement = "onnx", "onnxruntime", "onnx", "fp32", 0.99999

    def version(self) -> str:
        return str(onnxruntime().__version__)

    def write(self, graph: Path, place: Path, read: Read) -> None:
        session(graph, optimized=place / GRAPH)

    def opened(self, place: Path) -> Compute:
        run = session(place / GRAPH).run

        def compute(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
            embeddings: NDArray[np.float32]
            (embeddings,) = run(None, {"ids": ids, "mask": mask})
            return embeddings

        return compute


def session(graph: Path, *, optimized: Path | None = None) -> Any:
    """A graph, ready to run; with `optimized`, a graph that is optimized now and written there."""
    runtime = onnxruntime()
    runtime.set_default_logger_severity(4)  # it also raises what it logs
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads()
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


def onnxruntime() -> Any:
    """ONNX Runtime, without telemetry.

    Its builds have it on by default: it would write into the cache, and send to its makers.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when it is imported
    return require("onnxruntime", Onnx.extra)
