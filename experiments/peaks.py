"""Peak memory of a training on this machine: models of real shapes with random weights, two steps.

    python -m experiments.peaks [MODEL …]

Each row is `structkit train` in float32, in a process of its own, with batches of one chunk. The
second step has AdamW's state as well. `experiments.card` measures the same on a card.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel, T5ForConditionalGeneration

from experiments.sizes import CONFIGS, FLAGS, GB, TARGET
from structkit.learning.encoders.models import train_tokenizer
from tests.benchmarks.processes import STRUCTKIT, Cost, measured

WORDS = "red green blue black white house tree car door shirt".split()
STEPS = 2
# method, model, texts in a chunk, tokens of a document, flags
CASES = [
    *(("santa", "T5-base", 16, 240, label) for label in FLAGS),
    *(("seal", "BERT-base", 8, 512, label) for label in FLAGS),
    ("seal", "XLM-R-large", 1, 4096, "`--checkpointing`"),
]


def write_model(config: Any, folder: Path) -> None:
    """Write a model folder of this shape with random weights."""
    tokenizer = train_tokenizer(WORDS, 500, cls=not config.is_encoder_decoder)
    config.pad_token_id = tokenizer.pad_token_id
    torch.manual_seed(0)
    model = T5ForConditionalGeneration if config.is_encoder_decoder else AutoModel.from_config
    model(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def write_records(count: int, length: int, file: Path) -> None:
    """Write records of both methods for the steps; their documents fill `length` tokens."""
    text = " ".join(WORDS[at * at % len(WORDS)] for at in range(length))
    target = "<extra_id_0> " + " ".join(WORDS * TARGET)
    with file.open("w") as out:
        for number in range(STEPS * max(2, count)):
            record = {"id": str(number), "query": WORDS[number % len(WORDS)], "positive": text}
            record |= {"tagged": text, "untagged": text, "masked": text, "target": target}
            out.write(json.dumps(record) + "\n")


def command_of(method: str, count: int, length: int, flags: dict[str, Any]) -> list[str]:
    """Return the arguments of `structkit train` for this case."""
    options = {
        "document-length": length,
        "batch-size": max(2, count),  # one text has no negatives
        "chunk-size": count,
        "max-steps": STEPS,
        "learning-rate": 1e-5,
        **({"target-length": TARGET} if method == "santa" else {"negatives-per-query": 0}),
        **({"stages": "element"} if method == "seal" else {}),
        **({"lora-rank": flags["lora_rank"]} if "lora_rank" in flags else {}),
    }
    switches = ["--checkpointing"] if "checkpointing" in flags else []
    return ["--quiet", *switches] + [f"--{name}={value}" for name, value in options.items()]


def cost_of(method: str, config: Any, count: int, length: int, flags: dict[str, Any]) -> Cost:
    """Train a model of this shape for the steps, and return what that cost."""
    with tempfile.TemporaryDirectory() as folder:
        start, records = Path(folder, "start"), Path(folder, "records.jsonl")
        write_model(config, start)
        write_records(count, length, records)
        train = [*STRUCTKIT, "train", method, str(records), "--model", str(start)]
        return measured(
            [*train, "-o", f"{folder}/model", *command_of(method, count, length, flags)]
        )


def table(chosen: list[str]) -> Iterator[str]:
    """Yield the lines of the table for these models; all of them if there is none."""
    yield "| method | model | chunk | flags | peak | CPU minutes |"
    yield "|---|---|---:|---|---:|---:|"
    for method, name, count, length, label in CASES:
        if name in (chosen or CONFIGS):
            cost = cost_of(method, CONFIGS[name](), count, length, FLAGS[label])
            cells = [method, name, f"{count} × {length:,}", label or "none"]
            yield f"| {' | '.join([*cells, f'{cost.peak / GB:.1f} GB', f'{cost.cpu / 60:.1f}'])} |"


if __name__ == "__main__":
    for line in table(sys.argv[1:]):
        print(line, flush=True)
