"""Inference engines: torch, or for encoders ONNX Runtime or OpenVINO.

These start faster and run faster. The first time, torch exports the encoder into the user's cache;
if the export agrees with torch on sample texts, it computes that model from then on. Timing never
decides, so that equal runs have equal bits. Tests: tests/learning/encoding/test_exported.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError, flag, wrong_usage
from structkit.learning.encoding.exported import (
    RUNTIMES,
    Export,
    ExportedEncoder,
    Runtime,
    find_export,
)
from structkit.learning.encoding.settings import EncodingSettings
from structkit.learning.folders import model_folder
from structkit.learning.metadata import OddModel, own_metadata
from structkit.learning.model import Engine
from structkit.learning.static import StaticEncoder, open_table
from structkit.records.jsonl import Record

# devices of a GPU, found without torch
GPU_DEVICES = ("nvidia[0-9]*", "kfd")
CPU_INFO = Path("/proc/cpuinfo")


@dataclass
class TableEngine(Engine):
    """A table of token vectors, which numpy looks up."""

    model: StaticEncoder
    name = "numpy"

    def embeddings(self, inputs: Sequence[Any]) -> Vectors:
        return self.model.embed(inputs)


def open_engine(settings: EncodingSettings, device: str | None = None) -> tuple[Engine, Record]:
    """Open the engine for the model of these settings, and return it with the model's metadata."""
    folder = model_folder(settings.model, offline=settings.offline)
    try:
        return _open_own(settings, folder, device)
    except OddModel as odd:
        if not find_spec("sentence_transformers"):
            raise
        # an extra, which few models need
        from structkit.learning.encoding.library import open_library

        return open_library(settings, folder, device, odd)


def _open_own(
    settings: EncodingSettings, folder: Path, device: str | None
) -> tuple[Engine, Record]:
    """Open the engine of a model that structkit computes itself. Errors: `OddModel`."""
    runtime, changes = choose_runtime(settings, device), settings.changes
    if runtime and (settings.part == "tokens" or own_metadata(folder).get("part")):
        if settings.engine != "auto":
            raise wrong_usage(
                f"{flag('engine', settings.engine)} computes no embeddings of tokens",
                f"use {flag('engine', 'torch')}",
            )
        runtime = None
    if table := open_table(folder, changes):
        return TableEngine(table[0]), table[1]
    made = find_export(folder, changes, runtime) if runtime else None
    if runtime and made and (opened := _open_export(runtime, made, folder)):
        return opened
    # torch takes seconds to import, which an export makes unnecessary
    from structkit.learning.encoding.torch_engine import TorchEngine, export

    engine, metadata = TorchEngine.open(
        settings.model, device, settings.dtype, offline=settings.offline, **changes
    )
    named = settings.engine != "auto"
    if not runtime or made and not made[1]["agrees"] and not named:
        return engine, metadata
    why = export(engine, runtime, folder, changes, metadata)
    made = find_export(folder, changes, runtime)
    if made and (opened := _open_export(runtime, made, folder)):
        return opened
    if named:
        raise UserError(
            f"{flag('engine', settings.engine)} cannot compute this model: {why}",
            f"use {flag('engine', 'torch')}",
        )
    return engine, metadata


def choose_runtime(settings: EncodingSettings, device: str | None) -> Runtime | None:
    """Return the runtime that may compute the model instead of torch.

    For `auto` an installed one, without a GPU. Errors: the named engine is not installed, or lacks
    the precision.
    """
    engine, dtype = settings.engine, settings.dtype
    gpu = device != "cpu" and any(any(Path("/dev").glob(name)) for name in GPU_DEVICES)
    if engine == "torch" or engine == "auto" and gpu:
        return None
    if engine == "auto":
        able = [each for each in RUNTIMES if find_spec(each.package)]
        amx = CPU_INFO.exists() and "amx_bf16" in CPU_INFO.read_text()
        if settings.as_ == "document" and amx:  # a few queries need a fast start more
            able.reverse()
    else:
        able = [each for each in RUNTIMES if each.name == engine]
        able[0].version()  # or which extra it needs
    if runtime := next((each for each in able if each.dtype == dtype), None):
        return runtime
    if engine != "auto":
        raise wrong_usage(
            f"{flag('engine', engine)} takes no {flag('dtype', dtype)}",
            f"use {flag('engine', 'torch')}",
        )
    return None


def _open_export(runtime: Runtime, made: Export, folder: Path) -> tuple[Engine, Record] | None:
    """Open the model in its export; None if it does not agree with torch here."""
    try:
        encoder = ExportedEncoder(runtime, *made)
        agrees = made[1]["agrees"] and encoder.agrees()
    except Exception:  # from runtimes or tokenizers, which have no class of their own
        agrees = False
    return (encoder, {**made[1]["metadata"], "folder": folder}) if agrees else None
