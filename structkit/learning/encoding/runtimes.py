"""Runtimes of exported encoders: ONNX Runtime, and OpenVINO in several precisions."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import structkit
from structkit.extras import require
from structkit.processes import cores

# token ids and their mask, (batch, length) each, to embeddings, (batch, dim)
Compute = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]
# texts to token ids
Read = Callable[[Sequence[str]], list[list[int]]]


class Runtime(Protocol):
    """A library that computes a graph.

    `package` is what it needs, `extra` what installs it, `agreement` the least cosine at which an
    embedding counts as the same as torch's in float32.
    """

    @property
    def name(self) -> str: ...
    @property
    def package(self) -> str: ...
    @property
    def extra(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def agreement(self) -> float: ...

    def version(self) -> str:
        """The version of the library: what one has written may not suit another.

        Errors: the extra is not installed.
        """
        ...

    def write(self, graph: Path, place: Path, read: Read) -> None:
        """Write what it computes of an ONNX graph into a folder."""
        ...

    def opened(self, place: Path) -> Compute:
        """What it has written, ready to compute."""
        ...


def threads() -> int:
    """How many threads compute: OMP_NUM_THREADS, or as many as there are processors."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return int(said) if said.isdecimal() and int(said) else cores()


class Onnx:
    """ONNX Runtime, in float32."""

    name, package, extra, dtype, agreement = "onnx", "onnxruntime", "onnx", "fp32", 0.99999
    graph = "embeddings.onnx"

    def version(self) -> str:
        return str(onnxruntime().__version__)

    def write(self, graph: Path, place: Path, read: Read) -> None:
        session(graph, optimized=place / self.graph)

    def opened(self, place: Path) -> Compute:
        run = session(place / self.graph).run

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


PRECISIONS = {"fp32": "f32", "bf16": "bf16", "int8": "f32"}
# the least cosine to torch's float32
AGREEMENTS = {"fp32": 0.99999, "bf16": 0.999, "int8": 0.97}
TELLING = ("openvino.tools.ovc", "openvino_telemetry")
TEXTS, SHORT, LONG = 128, 40, 900  # what int8 is calibrated with, and their characters


@dataclass(frozen=True)
class OpenVino:
    """OpenVINO in one precision; `int8` has its own name."""

    dtype: str
    package = extra = "openvino"
    graph = "embeddings.xml"

    @property
    def name(self) -> str:
        return "openvino-int8" if self.dtype == "int8" else "openvino"

    @property
    def agreement(self) -> float:
        return AGREEMENTS[self.dtype]

    def version(self) -> str:
        return str(openvino().__version__)

    def write(self, graph: Path, place: Path, read: Read) -> None:
        library = openvino()
        model = library.Core().read_model(str(graph))
        if self.dtype == "int8":
            model = _quantized(model, read(sample_texts()))
        library.save_model(model, str(place / self.graph), compress_to_fp16=False)

    def opened(self, place: Path) -> Compute:
        settings = {
            "INFERENCE_NUM_THREADS": threads(),
            "NUM_STREAMS": "1",
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": PRECISIONS[self.dtype],
        }
        compiled = openvino().Core().compile_model(str(place / self.graph), "CPU", settings)
        infer = compiled.create_infer_request().infer

        def compute(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
            embeddings: NDArray[np.float32] = infer({"ids": ids, "mask": mask})[0].copy()
            return embeddings

        return compute


def _quantized(model: Any, inputs: Sequence[Sequence[int]]) -> Any:
    """A model whose products are of 8-bit integers, calibrated with token ids."""
    with untold():
        quantizer = require("nncf", OpenVino.extra)
    batches = [{"ids": np.array([ids]), "mask": np.ones((1, len(ids)), np.int64)} for ids in inputs]
    with redirect_stdout(StringIO()):  # it would show its progress among the rows
        return quantizer.quantize(
            model,
            quantizer.Dataset(batches),
            model_type=quantizer.ModelType.TRANSFORMER,
            subset_size=len(batches),
        )


def sample_texts() -> list[str]:
    """Code and prose that is there wherever this program is: the beginnings of its own files."""
    files = sorted(Path(structkit.__file__).parent.rglob("*.py"))
    texts = [text for file in files if len(text := file.read_text("utf-8")) >= LONG]
    draw = random.Random(0)
    return [
        text[: draw.randint(SHORT, LONG)] for text in draw.sample(texts, min(TEXTS, len(texts)))
    ]


@cache
def has_bf16() -> bool:
    """Whether the processor multiplies bfloat16."""
    return "BF16" in openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")


def openvino() -> Any:
    """OpenVINO, without telemetry."""
    with untold():
        return require("openvino", OpenVino.extra)


@contextmanager
def untold() -> Iterator[None]:
    """Imports that tell nobody.

    OpenVINO's converter, which is not used here, tells its makers of each import, by a package that
    NNCF uses too. What is None here cannot be imported, and both then do without.
    """
    absent = [name for name in TELLING if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]
