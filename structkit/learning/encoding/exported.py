"""Encoders that were exported: computed without torch by ONNX Runtime or OpenVINO, and cached."""

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import orjson
from tokenizers import Tokenizer

from structkit.embeddings.vectors import IntArray, Vectors, normalize_rows
from structkit.extras import require
from structkit.learning.folders import TOKENIZER_FILE, folder_signature
from structkit.learning.model import Engine, TokenModel
from structkit.learning.tokens import Tokenizing, pad_ids
from structkit.paths import cache_folder
from structkit.processes import cores
from structkit.records.jsonl import Record
from structkit.records.output import whole_folder

NOTES_FILE = "notes.json"
PLAIN_TOKENIZER_FILE = "plain-tokenizer.json"
SAMPLE_TEXTS = ["a", "Green tea, two cups.", "def add(a, b): return a + b  # <p>café</p> 一二三"]
EXPORT_BATCH_TOKENS = 512  # with more, the states of a layer no longer fit in the cache
# token ids and their mask, (batch, length) each, to embeddings, (batch, dim)
Compute = Callable[[dict[str, IntArray]], Vectors]
# a folder in the cache, and the notes on it
Export = tuple[Path, Record]


def thread_count() -> int:
    """Return the number of threads: OMP_NUM_THREADS, or one per processor."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return int(said) if said.isdecimal() and int(said) else cores()


class Onnx:
    """ONNX Runtime, in float32.

    `package` is the package of a runtime, `extra` the extra that installs it, `agreement` the
    lowest cosine at which an embedding counts as equal to torch's in float32, `graph` the file that
    it writes.
    """

    name = extra = "onnx"
    package = "onnxruntime"
    dtype = "fp32"
    agreement = 0.99999
    graph = "embeddings.onnx"

    def version(self) -> str:
        """Return the version of the library; files of one version may not suit another.

        Errors: the extra is not installed.
        """
        return str(onnxruntime().__version__)

    def write(self, graph: Path, place: Path) -> None:
        """Write its optimized form of an ONNX graph into a folder."""
        session(graph, optimized=place / self.graph)

    def open(self, place: Path) -> Compute:
        """Open what it has written, ready to compute."""
        run = session(place / self.graph).run
        return lambda inputs: run(None, inputs)[0]


def session(graph: Path, *, optimized: Path | None = None) -> Any:
    """Open a graph, ready to run; with `optimized`, optimize it now and write it there."""
    runtime = onnxruntime()
    runtime.set_default_logger_severity(4)  # it also raises its errors
    options = runtime.SessionOptions()
    options.intra_op_num_threads = thread_count()
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
    """Import ONNX Runtime without telemetry.

    Its builds have it on by default: it would write into the cache, and send to its makers.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when it is imported
    return require("onnxruntime", Onnx.extra)


TELEMETRY_MODULES = ("openvino.tools.ovc", "openvino_telemetry")


@dataclass
class OpenVino:
    """OpenVINO in one precision; `agreement` is as in `Onnx`."""

    dtype: str = "fp32"
    agreement: float = Onnx.agreement
    name = package = extra = "openvino"
    graph = "embeddings.xml"

    def version(self) -> str:
        return str(openvino().__version__)

    def write(self, graph: Path, place: Path) -> None:
        library = openvino()
        model = library.Core().read_model(str(graph))
        library.save_model(model, str(place / self.graph), compress_to_fp16=False)

    def open(self, place: Path) -> Compute:
        settings = {
            "INFERENCE_NUM_THREADS": thread_count(),
            "NUM_STREAMS": "1",
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "bf16" if self.dtype == "bf16" else "f32",
        }
        compiled = openvino().Core().compile_model(str(place / self.graph), "CPU", settings)
        infer = compiled.create_infer_request().infer
        return lambda inputs: infer(inputs)[0].copy()


Runtime: TypeAlias = Onnx | OpenVino
# fastest start first: `auto` takes the first that is installed and has the precision; for documents
# with AMX the last, which is 1.92 times as fast as sentence-transformers there, and the first 1.76
RUNTIMES: tuple[Runtime, ...] = (Onnx(), OpenVino(), OpenVino("bf16", 0.999))


def openvino() -> Any:
    """Import OpenVINO without telemetry.

    Its converter, which is not used here, reports each import to its makers by a separate package.
    A module that is None here cannot be imported, and the converter then does without.
    """
    absent = [name for name in TELEMETRY_MODULES if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]
    try:
        return require("openvino", OpenVino.extra)
    finally:
        for name in absent:
            del sys.modules[name]


class ExportedEncoder(TokenModel, Engine):
    """An exported encoder: texts to embeddings, as `Encoder` computes them."""

    batch_tokens = EXPORT_BATCH_TOKENS

    def __init__(self, runtime: Runtime, folder: Path, notes: Record) -> None:
        self.runtime, self.name, self.dtype = runtime, runtime.name, runtime.dtype
        self.model = self  # it needs no other
        self.compute = runtime.open(folder)
        self.version = notes["runtime"]
        files = [
            file
            for name in (TOKENIZER_FILE, PLAIN_TOKENIZER_FILE)
            if (file := folder / name).exists()
        ]
        tokenizers = [Tokenizer.from_file(str(file)) for file in files]
        for tokenizer in tokenizers:
            tokenizer.encode_special_tokens = notes["split_special_tokens"]
        self.tokenizing = Tokenizing(tokenizers[0], plain=tokenizers[-1], **notes["tokenizing"])
        self.truncation = self.tokenizing.truncation
        self.sample = np.array(notes["sample"], np.float32)

    def embeddings(self, inputs: Sequence[Sequence[int]]) -> Vectors:
        """Return the embeddings of some inputs, computed together, (inputs, dim)."""
        ids, mask = pad_ids(inputs, self.tokenizing.padding)
        return self.compute({"ids": ids, "mask": mask})

    def agreement(self) -> float:
        """Return the lowest cosine between its embeddings of sample texts and torch's."""
        embeddings = self.embeddings(self.inputs(SAMPLE_TEXTS, "document"))
        self.truncation.drain()
        cosines = (normalize_rows(embeddings) * normalize_rows(self.sample)).sum(1)
        return float(np.nan_to_num(cosines).min())

    def agrees(self) -> bool:
        """Return whether it agrees here with torch's results at the time of the export."""
        runtime = self.runtime
        return self.version == runtime.version() and self.agreement() >= runtime.agreement


def find_export(model: Path, changes: Mapping[str, Any], runtime: Runtime) -> Export | None:
    """Find the export of a model folder with these changes for a runtime.

    None if there is none, or if the model has changed since.
    """
    place = _export_folder(model, changes, runtime)
    try:
        about: Record = orjson.loads((place / NOTES_FILE).read_bytes())
        signature = folder_signature(model)
    except (OSError, ValueError):
        return None
    return (place, about) if about.get("signature") == signature else None


@contextmanager
def new_export(model: Path, changes: Mapping[str, Any], runtime: Runtime) -> Iterator[Export]:
    """Open a folder for an export, and its notes; it takes its place when it is complete."""
    place = _export_folder(model, changes, runtime)
    place.parent.mkdir(parents=True, exist_ok=True)
    with whole_folder(place) as folder:
        notes: Record = {"signature": folder_signature(model)}
        yield folder, notes
        (folder / NOTES_FILE).write_bytes(orjson.dumps(notes))


def _export_folder(model: Path, changes: Mapping[str, Any], runtime: Runtime) -> Path:
    named = f"{model.resolve()} {sorted(changes.items())} {runtime.name} {runtime.dtype}"
    digest = hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()
    return cache_folder("engines") / digest[:32]
