"""`make bench-gpu`: encoding and training of real shapes on a GPU, beside sentence-transformers.

Models are random, of the shapes of MiniLM, BERT-base and T5-base, in bfloat16. A row has tokens a
second, their products as a share of the fastest that the device showed in one large product, the
peak of its memory, and the share of the time in which it computed nothing. `--tiny` takes tiny
shapes, on a CPU too: it tests this script.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from torch import nn
from torch.profiler import ProfilerActivity, profile
from transformers import BertConfig, BertModel, T5Config, T5EncoderModel

from structkit.learning.encoders.models import train_tokenizer
from structkit.learning.encoding.encoding import Encoding
from structkit.learning.encoding.settings import EncodingSettings
from structkit.learning.training.devices import chosen_device
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train_method
from structkit.registry import load

# width, inner width, heads, layers, tokens of the vocabulary
SHAPES = {
    "MiniLM": ("bert", 384, 1536, 12, 6, 30_522),
    "BERT-base": ("bert", 768, 3072, 12, 12, 30_522),
    "T5-base": ("t5", 768, 3072, 12, 12, 32_128),
}
TINY = {"BERT-tiny": ("bert", 32, 64, 2, 1, 600), "T5-tiny": ("t5", 32, 64, 2, 1, 600)}
LENGTH, TEXTS, BATCH = 240, 2048, 128
WORDS = [f"{first}{second}" for first in "bdfgklmnprst" for second in ("a", "en", "ist", "o")]


def write_model(kind: str, *shape: int, folder: Path) -> None:
    """Write a random model of a shape, which structkit and sentence-transformers read."""
    width, inner, heads, layers, words = shape
    torch.manual_seed(0)
    tokenizer = train_tokenizer(WORDS, 500, cls=kind == "bert")
    model: nn.Module
    if kind == "bert":
        config = BertConfig(
            vocab_size=words,
            hidden_size=width,
            intermediate_size=inner,
            num_attention_heads=heads,
            num_hidden_layers=layers,
        )
        model = BertModel(config, add_pooling_layer=False)
    else:
        sizes: dict[str, Any] = {
            "d_model": width,
            "d_ff": inner,
            "d_kv": width // heads,
            "num_heads": heads,
        }
        model = T5EncoderModel(T5Config(vocab_size=words, num_layers=layers, **sizes))
    model.save_pretrained(folder / "start")
    tokenizer.save_pretrained(folder / "start")
    file = folder / "one.jsonl"
    file.write_text(json.dumps({"id": "a", "query": "ba", "positive": "den"}))
    start = load("method", "contrastive")(
        model=str(folder / "start"),
        max_steps=0,
        pooling="mean",
        query_length=LENGTH,
        document_length=LENGTH,
    )
    options = RunOptions(output=str(folder / "model"), quiet=True)
    train_method("contrastive", start, [str(file)], options)


def texts(count: int, length: int) -> list[str]:
    """Random texts of half to all of so many words."""
    draw = np.random.default_rng(0)
    lengths = draw.integers(length // 2, length, count)
    return [" ".join(draw.choice(WORDS, each)) for each in lengths]


def fastest(device: torch.device, size: int) -> float:
    """The operations a second of one large product in bfloat16."""
    matrix = torch.randn(size, size, device=device, dtype=torch.bfloat16)
    times = []
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(4):
            matrix @ matrix
        wait(device)
        times.append(time.perf_counter() - started)
    return 4 * 2 * size**3 / min(times)


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def measured(call: Callable[[], float | None], device: torch.device) -> dict[str, float | None]:
    """The seconds of a call, or those that it reports; memory and idle share of a GPU."""
    call()  # kernels are chosen, and memory is taken
    if device.type != "cuda":
        started = time.perf_counter()
        said = call()
        return {"seconds": said or time.perf_counter() - started, "memory_gb": None, "idle": None}
    torch.cuda.reset_peak_memory_stats()
    wait(device)
    started = time.perf_counter()
    said = call()
    wait(device)
    seconds = time.perf_counter() - started
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        before = time.perf_counter()
        call()
        wait(device)
        whole = time.perf_counter() - before
    busy = sum(each.self_device_time_total for each in seen.key_averages()) / 1e6
    peak = torch.cuda.max_memory_allocated() / 1e9
    return {"seconds": said or seconds, "memory_gb": peak, "idle": 1 - busy / whole}


def encodings(folder: Path, some: list[str], device: torch.device) -> Iterator[tuple[str, Any]]:
    """How each encodes."""
    settings = EncodingSettings(model=str(folder), offline=True, engine="torch", dtype="bf16")
    encoding = Encoding(settings, device=device.type)
    records = [{"id": str(place), "text": each} for place, each in enumerate(some)]
    yield "structkit", lambda: [None for _ in encoding.embedded(records)] and None
    model = SentenceTransformer(str(folder), device=device.type).to(torch.bfloat16)
    model.max_seq_length = LENGTH
    yield "sentence-transformers", lambda: model.encode(some, batch_size=BATCH)[:0].size or None


def trainings(
    folder: Path, some: list[str], batch: int, device: torch.device
) -> Iterator[tuple[str, Any]]:
    """How each trains for some steps: the seconds of one."""
    pairs = list(zip(some[::2], some[1::2], strict=True))
    lines = [{"id": str(n), "query": a, "positive": b} for n, (a, b) in enumerate(pairs)]
    file = folder.parent / "pairs.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    steps = len(pairs) // batch

    def whole(number: int) -> float:
        settings = load("method", "contrastive")(
            model=str(folder), bf16=True, batch_size=batch, max_steps=number
        )
        options = RunOptions(output=str(folder.parent / "trained"), overwrite=True, quiet=True)
        summary = train_method("contrastive", settings, [str(file)], options)
        return number * float(summary["seconds_per_step"])

    # the first steps also move the model and choose kernels
    yield "structkit", lambda: (whole(2 + steps) - whole(2)) / steps
    model = SentenceTransformer(str(folder), device=device.type)
    model.max_seq_length = LENGTH
    loss = MultipleNegativesRankingLoss(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, fused=True)

    def theirs() -> float:
        started = time.perf_counter()
        for first in range(0, steps * batch, batch):
            columns = [
                model.preprocess([pair[side] for pair in pairs[first : first + batch]])
                for side in (0, 1)
            ]
            columns = [
                {k: v.to(device) if hasattr(v, "to") else v for k, v in each.items()}
                for each in columns
            ]
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device.type, torch.bfloat16):
                value = loss(columns, None)
            value.backward()
            optimizer.step()
        wait(device)
        return (time.perf_counter() - started) / steps

    yield "sentence-transformers", theirs


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tiny", action="store_true")
    tiny = parser.parse_args().tiny
    device = chosen_device()
    if device.type != "cuda" and not tiny:
        raise SystemExit("there is no GPU; --tiny tests this script without one")
    name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    peak = fastest(device, 256 if tiny else 8192)
    print(json.dumps({"device": name, "product_tflops": peak / 1e12}))
    count, batch = (32, 4) if tiny else (TEXTS, BATCH)
    some = texts(count, LENGTH)
    for shape, (kind, *sizes) in (TINY if tiny else SHAPES).items():
        with TemporaryDirectory() as made:
            folder = Path(made)
            write_model(kind, *sizes, folder=folder)
            model = SentenceTransformer(str(folder / "model"), device="cpu")
            tokens = sum(min(LENGTH, len(each)) for each in model.tokenizer(some)["input_ids"])
            weights = sum(weight.numel() for weight in model.parameters()) - sizes[0] * sizes[-1]
            pairs = len(some) // 2 // batch * batch
            whole = {"encode": tokens, "train": tokens * 2 * batch // (2 * pairs)}
            for task, systems in (
                ("encode", encodings(folder / "model", some, device)),
                ("train", trainings(folder / "model", some, batch, device)),
            ):
                for system, call in systems:
                    found = measured(call, device)
                    speed = whole[task] / (found["seconds"] or 1)
                    # two operations a weight and token, three times as many with the gradient
                    share = speed * weights * (2 if task == "encode" else 6) / peak
                    row: dict[str, Any] = {"shape": shape, "task": task, "system": system}
                    row |= {"tokens_per_second": round(speed), "share_of_peak": round(share, 4)}
                    print(json.dumps({**row, **found}), flush=True)


if __name__ == "__main__":
    main()
