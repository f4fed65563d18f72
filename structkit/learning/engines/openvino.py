"""OpenVINO, in float32, bfloat16 or with 8-bit integers."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import structkit
from structkit.extras import require
from structkit.learning.engines.runtime import Compute, Read, threads

GRAPH = "embeddings.xml"
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
        library.save_model(model, str(place / GRAPH), compress_to_fp16=False)

    def opened(self, place: Path) -> Compute:
        settings = {
            "INFERENCE_NUM_THREADS": threads(),
            "NUM_STREAMS": "1",
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": PRECISIONS[self.dtype],
        }
        compiled = openvino().Core().compile_model(str(place / GRAPH), "CPU", settings)
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
