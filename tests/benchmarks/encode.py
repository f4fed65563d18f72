"""encode beside sentence-transformers: MiniLM, texts of 20 to 512 tokens, one thread, CPU time.

Real documents and sentences where there is DATA, else the fixtures. All ways run in turn; stated
are medians of the ratios of a round, and the lowest cosine to the library's embeddings. The fewer
the texts, the more padding is in the library's batches of 32. The limit is what the matrix products
alone take.
"""

from __future__ import annotations

import random
import re
import statistics
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer

from structkit.learning.encoding.encoding import Encoding
from structkit.learning.encoding.settings import EncodingSettings
from structkit.learning.folders import BUILTIN_FOLDER, model_folder
from structkit.learning.training.devices import has_bf16
from structkit.records.jsonl import Records
from structkit.settings import make
from tests.benchmarks.products import Products
from tests.benchmarks.table import Given, Race, tell

SHORTEST, LONGEST = 20, 512  # tokens
TEXTS, BATCH = 64, 32
TAG = re.compile(r"<[^>]*>")
# name, --engine, --dtype, times as fast, minimum of the cosines, of the limit
WAYS = (
    ("torch, float32", "torch", "fp32", 2.5, 0.99999, None),
    ("onnx, float32", "onnx", "fp32", 3.5, 0.99999, 0.8),  # what `auto` takes
    ("openvino, float32", "openvino", "fp32", 3.5, 0.99999, None),
    ("torch, bfloat16", "torch", "bf16", 3.5, 0.9999, None),
    ("openvino, bfloat16", "openvino", "bf16", 5, 0.9999, 0.65),
)
NUMBERS = ("float32", "bfloat16")
Encode = Callable[[list[str]], Any]


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


def texts(data: Path | None, tokenizer: Any) -> list[str]:
    """Documents cut at a random number of tokens, and as many sentences, mixed."""
    draw, found = random.Random(0), list[str]()
    both = sources(data)
    while len(found) < TEXTS:
        of_sentences = draw.random() > 0.5
        text = next(both[of_sentences])
        if not of_sentences:
            start = draw.randrange(max(1, len(text) - 4000))
            text = text[start : start + 4000]
        offsets = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)
        offsets = offsets["offset_mapping"]
        longest = LONGEST - 2 if of_sentences else draw.randint(SHORTEST, LONGEST - 2)
        if (length := min(len(offsets), longest)) >= SHORTEST:
            found.append(text[: offsets[length - 1][1]])
    return found


def ours(engine: str, dtype: str) -> Encoding:
    settings = {"model": "minilm", "dtype": dtype, "engine": engine}
    encoding = Encoding(make(EncodingSettings, settings))
    encoding.encoder.read_at_most("document", LONGEST)
    return encoding


def encode(given: Given, folder: Path) -> None:
    """Each engine and number type over the library."""
    torch.set_num_threads(1)
    theirs = SentenceTransformer(str(model_folder("minilm")), device="cpu")
    theirs.max_seq_length = LONGEST
    chosen = texts(given.data, theirs.tokenizer)
    lengths = [len(ids) for ids in theirs.tokenizer(chosen)["input_ids"]]
    mean = statistics.mean(lengths)
    print(f"{TEXTS} texts, {min(lengths)} to {max(lengths)} tokens, mean {mean:.0f}")
    encoders: dict[str, Encode] = {"theirs": lambda texts: theirs.encode(texts, batch_size=BATCH)}
    targets: dict[str, tuple[float, float, float | None]] = {}
    for name, engine, dtype, target, cosine, least in WAYS:
        if dtype == "bf16" and not has_bf16(torch.device("cpu")):
            print(f"{name}: the processor has no bfloat16 products: it would say nothing")
            continue
        encoders[name], targets[name] = ours(engine, dtype).embed, (target, cosine, least)
        encoders[name](chosen[:2])  # what is measured and checked once at the start
    model = theirs[0].auto_model
    # elsewhere torch emulates products of bfloat16, which takes minutes
    kinds = [kind for kind in NUMBERS if any(kind in name for name in targets)]
    limits = {kind: Products(model, lengths, getattr(torch, kind)) for kind in kinds}
    encoders |= limits
    race = Race(given, {name: partial(each, chosen) for name, each in encoders.items()})
    print(", ".join(f"{name} {race.median(name):.2f} s" for name in encoders))
    for name, (wanted, lowest, least) in targets.items():
        title = f"encode, {name}, times as fast as sentence-transformers"
        floor = next((kind for kind in NUMBERS if kind in name), "")
        race.row(title, "theirs", name, wanted, floor, more=True, least=least)
        cosine = float(np.einsum("nd,nd->n", race.found["theirs"], race.found[name]).min())
        cosines = f"encode, {name}: cosine to sentence-transformers"
        tell(cosines, [cosine], lowest, unit="", more=True, digits=5)


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
