"""What computes a model: torch, or for encoders ONNX Runtime or OpenVINO.

These start faster and run faster. The first time, torch exports the encoder into the user's cache
and all compute sample texts; of those that agree, the fastest computes that model from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from structkit.errors import UserError, flag
from structkit.learning.encoding.exported import (
    Export,
    ExportedEncoder,
    Onnx,
    OpenVino,
    Runtime,
    fastest_dtype,
    find_export,
)
from structkit.learning.encoding.settings import EncodingSettings
from structkit.learning.folders.hub import model_folder
from structkit.learning.static import StaticEncoder, opened_table
from structkit.learning.training.tokens import Model, Truncation
from structkit.records.jsonl import Record

# each in the precisions that it may compute in; what starts sooner is first
RUNTIMES: dict[str, tuple[Runtime, ...]] = {
    "onnx": (Onnx(),),
    "openvino": (OpenVino("fp32"), OpenVino("bf16")),
    "openvino-int8": (OpenVino("int8"),),
}
Exports = dict[Runtime, Export | None]
# how many times as long as torch an engine may take that starts at once: torch needs seconds
SLOWER = 1.25
# … and how much faster a runtime must be than one that starts sooner, 0.2 s here
SOONER = 0.8
# what a GPU looks like without torch
GPUS = ("nvidia[0-9]*", "kfd")


class Engine(Protocol):
    """What computes the embeddings of a model's inputs; `len()` of an input is its cost.

    `batch_tokens` is the size of a batch that is fastest, `precision` that of matrix products: the
    fastest one that is exact enough, once measured.
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
        self.model, self.truncation, self.embeddings = model, model.truncation, model.embed


def open_engine(settings: EncodingSettings) -> tuple[Engine, Record]:
    """What computes the model of these settings, with the model in it, and the model's facts."""
    runtimes, changes = _runtimes(settings), settings.changes
    folder = model_folder(settings.model, offline=settings.offline)
    given = {name: value for name, value in changes.items() if value is not None}
    if table := opened_table(folder, given):
        return TableEngine(table[0]), table[1]
    exports: Exports = {each: find_export(folder, changes, each) for each in runtimes}
    if exports and all(exports.values()) and (opened := _open_fastest(settings, folder, exports)):
        return opened
    # torch takes seconds to import, which nobody waits for whose exports are there
    from structkit.learning.encoding.torch_engine import TorchEngine, export

    engine, facts = TorchEngine.open(
        settings.model, settings.device, settings.dtype, offline=settings.offline, **changes
    )
    why = ""
    for runtime in [runtime for runtime, made in exports.items() if not made]:
        why = export(engine, runtime, folder, changes, facts)
        exports[runtime] = None if why else find_export(folder, changes, runtime)
    if opened := _open_fastest(settings, folder, exports):
        return opened
    if settings.engine in RUNTIMES:
        problem = f"{flag('engine', settings.engine)} cannot compute this model: {why}"
        raise UserError(problem, f"use {flag('engine', 'torch')}")
    return engine, facts


def _runtimes(settings: EncodingSettings) -> list[Runtime]:
    """Those that may compute the model; for `auto` the installed ones, where there is no GPU.

    8-bit integers are only for those who ask for them. Errors: an engine that is named is not
    installed, or takes no such device or precision.
    """
    engine, dtype, device = settings.engine, settings.dtype, settings.device
    if engine in RUNTIMES:
        RUNTIMES[engine][0].version()  # or which extra it needs
        able = {each.dtype: each for each in RUNTIMES[engine]}
        wrong = flag("device", device) if device not in (None, "cpu") else ""
        if dtype not in ("auto", "fp32", *able):  # fp32 is the default, int8 has a name
            wrong = flag("dtype", dtype)
        if wrong:
            problem = f"{flag('engine', engine)} takes no {wrong}"
            raise UserError(problem, f"use {flag('engine', 'torch')}", status=2)
        fastest = fastest_dtype() if dtype == "auto" and len(able) > 1 else dtype
        return [able.get(fastest, RUNTIMES[engine][0])]
    if engine == "torch" or not (device == "cpu" or not device and no_gpu()):
        return []
    installed = [
        each
        for name, runtimes in RUNTIMES.items()
        for each in runtimes
        if name != "openvino-int8" and find_spec(each.package)
    ]
    if dtype == "auto" and any(each.package == "openvino" for each in installed):
        return [each for each in installed if each.dtype == fastest_dtype()]
    return [each for each in installed if each.dtype == dtype]  # for auto, torch knows


def _open_fastest(
    settings: EncodingSettings, folder: Path, exports: Exports
) -> tuple[Engine, Record] | None:
    """The model in the fastest runtime, the first ones preferred; None where torch computes it.

    That is where torch is much faster, or the export does not compute here what it should.
    """
    fastest, limit = None, SLOWER if settings.engine == "auto" else inf
    for runtime, export in exports.items():
        if export and export[1]["agrees"]:
            by_torch, by_runtime = export[1]["seconds"]
            if by_runtime / by_torch < limit:
                fastest, limit = (runtime, export), by_runtime / by_torch * SOONER
    if not fastest:
        return None
    runtime, export = fastest
    try:
        encoder = ExportedEncoder(runtime, *export)
        agrees = encoder.agrees()
    except Exception:  # from runtimes or tokenizers, which have no class of their own
        agrees = False
    if not agrees:
        exports[runtime] = None  # it is damaged, and made again
        return None
    return encoder, {**export[1]["facts"], "folder": folder}


def no_gpu() -> bool:
    """Whether the machine shows no GPU that torch could use."""
    return not any(any(Path("/dev").glob(name)) for name in GPUS)
