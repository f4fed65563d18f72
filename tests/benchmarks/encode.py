"""encode against sentence-transformers: MiniLM, texts of 20 to 512 tokens, one thread, CPU time.

    python -m tests.benchmarks.encode --data ../shared/data

reads real documents and sentences there, and without `--data` the fixtures. All ways run in turn;
stated are medians of the ratios of a round, and the lowest cosine to the library's embeddings. The
fewer the texts, the more padding is in the library's batches of 32. Beside them stands how long
the matrix products of the linear maps alone take: no way of computing them in float32 is faster.
`--memory` measures instead how much memory ten times as many texts take.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import torch
from sentence_transformers import SentenceTransformer

from structkit.learning.encoding.encoding import Encoding
from structkit.learning.encoding.settings import EncodingSettings
from structkit.learning.folders.hub import model_folder
from structkit.learning.training.devices import has_bf16
from structkit.settings import make
from tests.benchmarks.backends import backends
from tests.benchmarks.rows import tell

LEAST, MOST = 20, 512  # tokens
TAG = re.compile(r"<[^>]*>")
STRETCH = 1024  # tokens in a product: what is fastest
SHARE = 0.5  # of the texts are documents, the others sentences
# name, --engine, --dtype, times as fast, least cosine
WAYS = (
    ("torch, float32", "torch", "fp32", 2.5, 0.99999),
    ("onnx, float32", "onnx", "fp32", 3.5, 0.99999),
    ("openvino, float32", "openvino", "fp32", 3.5, 0.99999),
    ("openvino, int8", "openvino-int8", "fp32", 7, 0.99),
    ("torch, bfloat16", "torch", "bf16", 3.5, 0.9999),
    ("openvino, bfloat16", "openvino", "bf16", 5, 0.9999),
)
BF16 = 2  # of them


def documents(data: Path | None) -> Iterator[str]:
    """Documents without their tags, of StructDocRetrieval or of the fixtures, again and again."""
    if data is None:
        paths = sorted(Path("fixtures/html").rglob("*.html"))
        paths += sorted(Path("fixtures/languages").rglob("*.txt"))
        pages = [path.read_text("utf-8") for path in paths]
        yield from cycle([" ".join(TAG.sub(" ", page).split()) for page in pages])
    else:
        with gzip.open(data / "structdoc" / "dev_docs.jsonl.gz", "rb") as lines:
            for line in lines:
                yield " ".join(TAG.sub(" ", orjson.loads(line)["html"]).split())


def sentences(data: Path | None) -> Iterator[str]:
    """Sentences of Wikipedia; without data the lines of the README."""
    if data is None:
        yield from cycle(Path("README.md").read_text("utf-8").split("\n"))
    else:
        with gzip.open(data / "wikitext" / "wiki_sentences_dev.jsonl.gz", "rb") as lines:
            for line in lines:
                yield orjson.loads(line)["text"]


def texts(data: Path | None, count: int, tokenizer: Any) -> list[str]:
    """Documents cut at a random number of tokens, and sentences, mixed."""
    draw, found = random.Random(0), list[str]()
    sources = documents(data), sentences(data)
    while len(found) < count:
        of_sentences = draw.random() > SHARE
        text = next(sources[of_sentences])
        if not of_sentences:
            start = draw.randrange(max(1, len(text) - 4000))
            text = text[start : start + 4000]
        offsets = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)
        offsets = offsets["offset_mapping"]
        length = min(len(offsets), MOST - 2 if of_sentences else draw.randint(LEAST, MOST - 2))
        if length >= LEAST:
            found.append(text[: offsets[length - 1][1]])
    return found


def ours(dtype: str, engine: str) -> Encoding:
    settings = {"model": "minilm", "dtype": dtype, "engine": engine}
    encoding = Encoding(make(EncodingSettings, settings))
    encoding.encoder.tokenizing.lengths["document"] = MOST
    return encoding


class Products:
    """The linear maps of the model over so many tokens, without padding, and nothing else."""

    def __init__(self, model: Any, tokens: int) -> None:
        self.maps = [each for each in model.encoder.modules() if isinstance(each, torch.nn.Linear)]
        self.tokens = tokens

    def __call__(self) -> None:
        with torch.inference_mode():
            for count in [STRETCH] * (self.tokens // STRETCH) + [self.tokens % STRETCH]:
                widths = {each.in_features for each in self.maps}
                given = {width: torch.ones(count, width) for width in widths}
                for each in self.maps:
                    each(given[each.in_features])


def compare(data: Path | None, count: int, rounds: int) -> None:
    theirs = SentenceTransformer(str(model_folder("minilm")), device="cpu")
    theirs.max_seq_length = MOST
    chosen = texts(data, count, theirs.tokenizer)
    lengths = [len(ids) for ids in theirs.tokenizer(chosen)["input_ids"]]
    mean = statistics.mean(lengths)
    print(f"{count} texts, {min(lengths)} to {max(lengths)} tokens, mean {mean:.0f}")
    chosen_ways = WAYS
    if not has_bf16(torch.device("cpu")):
        print("the processor has no bfloat16 products: what bfloat16 takes would say nothing")
        chosen_ways = WAYS[:-BF16]
    encodings = {name: ours(dtype, engine) for name, engine, dtype, _, _ in chosen_ways}
    ways: dict[str, Any] = {"theirs": lambda: theirs.encode(chosen, batch_size=32)}
    for name, encoding in encodings.items():
        ways[name] = lambda encoding=encoding: encoding.embed(chosen)
        encoding.embed(chosen[:2])  # what is measured and checked once at the start
    ways |= {
        name: lambda encode=encode: encode(chosen)
        for name, encode in backends(theirs.tokenizer).items()
    }
    ways["products"] = Products(theirs[0].auto_model, sum(lengths))
    times: dict[str, list[float]] = {name: [] for name in ways}
    found = {}
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.process_time()
            found[name] = way()
            times[name].append(time.process_time() - start)
    print(f"matmul precision {encodings['torch, float32'].precision}")
    most = sorted(a / b for a, b in zip(times["theirs"], times["products"], strict=True))
    seconds = ", ".join(f"{name} {statistics.median(each):.2f} s" for name, each in times.items())
    print(
        f"{seconds}; the products alone would be {statistics.median(most):.2f}x as fast as "
        f"sentence-transformers  ({most[0]:.2f} … {most[-1]:.2f})"
    )
    peers = [(name, "", "", None, 0) for name in ways if name.startswith("its ")]
    for name, _, _, target, least in [*chosen_ways, *peers]:
        ratios = [a / b for a, b in zip(times["theirs"], times[name], strict=True)]
        cosine = float(np.einsum("nd,nd->n", found["theirs"], found[name]).min())
        title = f"encode, {name}, times as fast as sentence-transformers"
        tell(title, ratios, target, more=True)
        cosines = f"encode, {name}: cosine to sentence-transformers"
        tell(cosines, [cosine], least or None, unit="", more=True, digits=5)


PEAK = "from tests.benchmarks import encode; encode.short_texts({})"


def short_texts(count: int) -> None:
    """Encode so many short texts and print the peak of this process's memory in MiB."""
    torch.set_num_threads(1)
    encoding = ours("fp32", "auto")
    records = ({"id": str(n), "text": f"number {n}"} for n in range(count))
    for _ in islice(encoding.embeddings(encoding.texts(records)), count):
        pass
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def memory(count: int) -> None:
    """The peak for many short texts over that for a tenth of them."""
    few, many = (
        float(subprocess.check_output([sys.executable, "-c", PEAK.format(number)]).split()[-1])
        for number in (count // 10, count)
    )
    verdict = "ok" if many <= 1.1 * few else "OVER"
    print(
        f"encode, peak memory of {count:,} short texts over a tenth {many / few:5.2f}x  "
        f"({few:.0f}, {many:.0f} MiB)  target 1.1x  {verdict}"
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of structdoc/ and wikitext/")
    parser.add_argument("--texts", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", type=int, help="measure the memory of so many short texts")
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    if args.memory:
        memory(args.memory)
    else:
        compare(args.data, args.texts, args.rounds)


if __name__ == "__main__":
    main(sys.argv[1:])
