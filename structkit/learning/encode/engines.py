"""What computes a model: torch, or for encoders ONNX Runtime, which starts faster and runs faster.

The first time, torch exports the encoder into the user's cache and both compute sample texts; if
they agree, ONNX Runtime computes that model from then on.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from structkit.errors import UserError, unknown
from structkit.learning.engines.exported import kept
from structkit.learning.engines.onnx import OnnxEncoder, onnxruntime
from structkit.learning.folders.hub import model_folder
from structkit.learning.static.encoder import StaticEncoder, opened_table
from structkit.learning.training.tokens import Truncation
from structkit.plugin import Model
from structkit.records.jsonl import Record

ENGINES = ("auto", "torch", "onnx")
# how many times as long as torch an engine may take that starts at once: torch needs seconds
SLOWER = 1.25
# what a GPU looks like without torch
GPUS = ("nvidia[0-9]*", "kfd")


class Engine(Protocol):
    """What embeds texts. `len()` of an input is its cost.

    `batch_tokens` is the size of a batch that is fastest.
    """

    name: str
    dtype: str
    precision: str | None
    batch_tokens: int
    truncation: Truncation

    @property
    def model(self) -> Model:
        """The model that it computes."""
        ...

    def inputs(self, texts: Sequence[str], side: str) -> Sequence[Sized]:
        """Texts as the model reads them."""
        ...

    def embeddings(self, inputs: Sequence[Any]) -> NDArray[np.float32]:
        """The embeddings of some inputs, computed together, (inputs, dim)."""
        ...


class TableEngine:
    """A table of token vectors, which numpy looks up: all inputs together."""

    name = "numpy"
    dtype = "fp32"
    precision: str | None = "highest"
    batch_tokens = 1 << 30

    def __init__(self, model: StaticEncoder) -> None:
        self.model, self.truncation = model, model.truncation
        self.inputs, self.embeddings = model.inputs, model.embed


@dataclass(frozen=True)
class Wanted:
    """A model, and how it is to be computed; `changes` override what the model says of itself."""

    model: str
    engine: str = "auto"
    device: str | None = None
    dtype: str = "fp32"
    offline: bool = False
    changes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise unknown("engine", self.engine, ENGINES)
        if self.engine != "onnx":
            return
        onnxruntime()
        if self.dtype == "bf16" or self.device not in (None, "cpu"):
            flag = "--dtype bf16" if self.dtype == "bf16" else f"--device {self.device}"
            raise UserError(f"--engine onnx takes no {flag}", "use --engine torch", status=2)

    @property
    def plain(self) -> bool:
        """Whether ONNX Runtime may compute the model: in float32, where there is no GPU for it."""
        if self.engine == "auto":
            usual = self.dtype == "fp32" and (self.device == "cpu" or not self.device and no_gpu())
            return usual and find_spec("onnxruntime") is not None
        return self.engine == "onnx"

    def load(self) -> tuple[Engine, Record]:
        """The engine with its model, and the model's facts."""
        folder = model_folder(self.model, offline=self.offline)
        given = {name: value for name, value in self.changes.items() if value is not None}
        if table := opened_table(folder, given):
            return TableEngine(table[0]), table[1]
        exported = kept(folder, self.changes) if self.plain else None
        if exported and self.takes(exported[1]) and (encoder := _opened(folder, *exported)):
            return encoder
        from structkit.learning.encode.exporting import export
        from structkit.learning.encode.torch_engine import TorchEngine

        engine, facts = TorchEngine.open(
            self.model, self.device, self.dtype, offline=self.offline, **self.changes
        )
        if not self.plain or exported and not self.takes(exported[1]):
            return engine, facts
        why = export(engine, folder, self.changes, facts)
        if not why and (exported := kept(folder, self.changes)) and self.takes(exported[1]):
            return _opened(folder, *exported) or (engine, facts)
        if self.engine == "onnx":
            raise UserError(f"--engine onnx cannot compute this model: {why}", "use --engine torch")
        return engine, facts

    def takes(self, about: Record) -> bool:
        """Whether ONNX Runtime is to compute an exported model: if it is not much slower."""
        by_torch, by_onnx = about["seconds"]
        agrees: bool = about["agrees"]
        return agrees and (self.engine == "onnx" or by_onnx < SLOWER * by_torch)


def _opened(folder: Path, place: Path, about: Record) -> tuple[Engine, Record] | None:
    """The model in ONNX Runtime; None if that does not compute here what it should."""
    try:
        encoder = OnnxEncoder(place, about)
        agrees = encoder.agrees()
    except Exception:  # from ONNX Runtime or tokenizers, which have no class of their own
        return None  # a damaged export is made again
    return (encoder, {**about["facts"], "folder": folder}) if agrees else None


def no_gpu() -> bool:
    """Whether the machine shows no GPU that torch could use."""
    return not any(any(Path("/dev").glob(name)) for name in GPUS)
