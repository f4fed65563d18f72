"""encode beside sentence-transformers: MiniLM, real texts in their own lengths, whole processes.

The texts are functions of Python's standard library, each once; both sides read the first 256
tokens, as the model says. All ways run in turn, with one thread; stated are medians of the ratios
of CPU seconds, start included, and the lowest cosine to the library's embeddings. The library's own
ONNX needs the package optimum-onnx, in an environment whose transformers it supports; `fewer` texts
are for a busy machine.
"""

from __future__ import annotations

import json
import random
import re
import sysconfig
from collections import deque
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

import structkit
from structkit.learning.encoding.encoding import Encoding
from structkit.learning.encoding.settings import EncodingSettings
from structkit.learning.folders import BUILTIN_FOLDER, model_folder
from structkit.learning.training.devices import has_bf16
from structkit.records.jsonl import Records
from structkit.settings import make
from tests.benchmarks.processes import PYTHON, STRUCTKIT, measured
from tests.benchmarks.table import Given, Race, tell

TEXTS = 2_000
TAG = re.compile(r"<[^>]*>")
# name, --engine, --dtype, the library's backend beside it, times as fast, minimum of the cosines
WAYS = (
    ("torch, float32", "torch", "fp32", "torch", 1.5, 0.99999),
    ("onnx, float32", "onnx", "fp32", "onnx", 1.5, 0.99999),  # what `auto` takes
    ("openvino, float32", "openvino", "fp32", "torch", 1.5, 0.99999),
    ("torch, bfloat16", "torch", "bf16", "torch", 3.5, 0.9999),
    ("openvino, bfloat16", "openvino", "bf16", "torch", 5, 0.9999),
)
BEST = 3.0  # times as fast: the fastest of ours in float32 over the fastest of the library


def sources(data: Path | None) -> tuple[Iterator[str], Iterator[str]]:
    """Documents without their tags, and sentences: of the data, or fixtures and README's lines."""
    if data is None:
        pages = [path.read_text("utf-8") for path in sorted(Path("fixtures").rglob("*/*.txt"))]
        lines = Path("README.md").read_text("utf-8").split("\n")
    else:
        pages = [row["html"] for row in records(data / "structdoc/dev_docs.jsonl.gz")]
        lines = [row["text"] for row in records(data / "wikitext/wiki_sentences_dev.jsonl.gz")]
    return cycle(" ".join(TAG.sub(" ", page).split()) for page in pages), cycle(lines)


def records(file: Path) -> list[Any]:
    return list(islice(Records.read([str(file)]), 1000))


def functions(count: int) -> list[str]:
    """Different functions of the standard library's modules, drawn at random."""
    modules = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    found = structkit.collect([str(module) for module in modules], unit="function")
    return random.Random(0).sample(sorted({row["code"] for row in found}), count)


def encode(given: Given, folder: Path, count: int = TEXTS) -> None:
    """Each engine and number type over the library, and the fastest of both."""
    model, texts = str(model_folder("minilm")), folder / "texts.jsonl"
    lines = [json.dumps({"id": str(n), "text": each}) for n, each in enumerate(functions(count))]
    texts.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    few = folder / "few.jsonl"
    few.write_text("".join(f"{line}\n" for line in lines[:2]), "utf-8")
    print(f"{count:,} functions of the standard library")
    peers = {"torch": theirs(model, "torch", texts, folder)}
    if find_spec("optimum"):
        saved = str(folder / "onnx")
        measured([*theirs(model, "onnx", few, folder), saved])  # the export is for the first time
        peers["onnx"] = theirs(saved, "onnx", texts, folder)
    own: dict[str, list[str]] = {}
    for name, engine, dtype, _, _, _ in WAYS:
        if dtype == "bf16" and not has_bf16(torch.device("cpu")):
            print(f"{name}: the processor has no bfloat16 products: it would say nothing")
            continue
        options = ["-m", "minilm", "--engine", engine, "--dtype", dtype, "--quiet"]
        out = str(folder / f"{engine}-{dtype}.npy")
        own[name] = [*STRUCTKIT, "encode", str(texts), *options, "-o", out]
        measured([*STRUCTKIT, "encode", str(few), *options, "-o", out])  # as above
    library = {f"library, {name}": command for name, command in peers.items()}
    race = Race(given, {**library, **own})
    print(", ".join(f"{name} {race.median(name):.2f} s" for name in race.times))
    expected = np.load(folder / "torch.npy")
    for name, engine, dtype, backend, wanted, lowest in WAYS:
        if name not in own:
            continue
        if backend in peers:
            title = f"encode, {name}, times as fast as sentence-transformers ({backend})"
            race.row(title, f"library, {backend}", name, wanted, more=True)
        vectors = np.load(folder / f"{engine}-{dtype}.npy")
        cosines = np.einsum("nd,nd->n", expected, vectors) / np.linalg.norm(vectors, axis=1)
        title = f"encode, {name}: cosine to sentence-transformers"
        tell(title, [float(cosines.min())], lowest, unit="", more=True, digits=5)
    fastest = min((name for name in own if "float32" in name), key=race.median)
    peer = min(library, key=race.median)
    title = "encode, fastest in float32, times as fast as sentence-transformers' fastest"
    race.row(title, peer, fastest, BEST, more=True, note=f"{fastest}; {peer}")


def theirs(model: str, backend: str, texts: Path, folder: Path) -> list[str]:
    """The command by which the library encodes a file with a backend."""
    program = [PYTHON, "-m", "tests.benchmarks.library_encode"]
    return [*program, model, backend, str(texts), str(folder / f"{backend}.npy")]


def static(given: Given, folder: Path) -> None:
    """Texts by the built-in table beside its tokenizer alone; the limit is our own reading."""
    encoding = Encoding(make(EncodingSettings, {"model": "builtin"}))
    encoder, tokenizer = (
        encoding.encoder,
        Tokenizer.from_file(str(BUILTIN_FOLDER / "tokenizer.json")),
    )
    of_both = [islice(each, 2000) for each in sources(given.data)]
    # no text comes twice: it would be embedded once
    texts = [f"{at} {text}" for at, text in enumerate(chain(*of_both))]
    rows = [{"id": str(at), "text": text} for at, text in enumerate(texts)]
    race = Race(given, {
        "ours": lambda: deque(encoding.embedded(rows), 0),
        "read": lambda: encoder.inputs(texts, "document"),
        "tokenizer": lambda: tokenizer.encode_batch_fast(texts),
    })  # fmt: skip
    tokens = sum(map(len, race.found["read"]))
    note = f"{tokens / race.median('ours') / 1e6:.1f} million tokens a CPU second"
    title = "encode, a static table, times as fast as its tokenizer alone (tokenizers)"
    race.row(title, "tokenizer", "ours", 0.75, "read", more=True, note=note)
