"""sentence-transformers' own ONNX and OpenVINO backends, as they compute: batches of 32, padded.

The package that exports for them (optimum) needs an older transformers, so the graph is ours; the
runtimes have the settings that it gives them, with one thread.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structkit.learning.encoders.export import write_graph
from structkit.learning.encoding.runtimes import onnxruntime, openvino
from structkit.learning.encoding.torch_engine import TorchEngine

BATCH = 32
Run = Callable[[dict[str, NDArray[np.int64]]], NDArray[np.float32]]


def by_onnx(graph: str) -> Run:
    runtime = onnxruntime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    return lambda given: session.run(None, given)[0]


def by_openvino(graph: str) -> Run:
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": 1}
    compiled = openvino().Core().compile_model(graph, "CPU", settings)
    return lambda given: compiled(given)[0].copy()


def backends(tokenizer: Any) -> dict[str, Callable[[list[str]], NDArray[np.float32]]]:
    """Both, from texts to embeddings; the graph is MiniLM's."""
    engine, _ = TorchEngine.open("minilm", "cpu", "fp32", offline=True)
    with tempfile.TemporaryDirectory() as folder:
        graph = Path(folder) / "graph.onnx"
        write_graph(engine.model, graph)  # type: ignore[arg-type]
        runs = {
            "its ONNX backend": by_onnx(str(graph)),
            "its OpenVINO backend": by_openvino(str(graph)),
        }

    def encoder(run: Run) -> Callable[[list[str]], NDArray[np.float32]]:
        def encode(texts: list[str]) -> NDArray[np.float32]:
            order = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
            found = []
            for start in range(0, len(order), BATCH):
                chosen = [texts[place] for place in order[start : start + BATCH]]
                read = tokenizer(chosen, padding=True, truncation=True, return_tensors="np")
                found.append(run({"ids": read["input_ids"], "mask": read["attention_mask"]}))
            return np.concatenate(found)[np.argsort(order)]

        return encode

    return {name: encoder(run) for name, run in runs.items()}
