"""A contrastive training step beside sentence-transformers' MultipleNegativesRankingLoss.

MiniLM, 32 queries of 32 tokens and 32 documents of 256: tokens to gradients and AdamW; CPU time of
one thread, medians of the ratios of interleaved runs. Beside float32 stands bfloat16 where the
processor multiplies it, and gradient caching against the step without it. The error of a gradient
is the length of its difference from the library's over the length of the library's, all weights
as one vector: a key's bias has the gradient 0, and beside it rounding alone would look large.
With CLS pooling, as SEAL has it, the last layer computes only what is looked at.

And the peak of memory of a step of `train santa` from an encoder alone: 64 pairs, documents of 160
tokens that are all to be predicted, each among 30,522.
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.modules import Pooling

from structkit.learning.encoders.dual_encoder import DualEncoder
from structkit.learning.encoders.encoder import Encoder
from structkit.learning.encoders.models import load_pretrained
from structkit.learning.folders import model_folder
from structkit.learning.training.data import Spool, Step
from structkit.learning.training.devices import fastest_matmul, has_bf16
from structkit.records.jsonl import Records
from structkit.registry import load
from tests.benchmarks.processes import PYTHON, measured
from tests.benchmarks.products import Products
from tests.benchmarks.table import Given, Race, Way, tell

BATCH, QUERY, DOCUMENT = 32, 32, 256
TEMPERATURE = 0.05
STEP = Step(0, "train", 0, list(range(BATCH)))
WORDS = "red green blue black white house tree car door shirt river stone paper".split()


def text(number: int, length: int) -> str:
    """As many tokens as words, cut at the length by both.

    No text comes twice: of equal ones we leave the false negatives out, and the library does not.
    """
    return " ".join(random.Random(number).choices(WORDS, k=length))


RECORDS = [
    {"id": str(number), "query": text(number, QUERY), "positive": text(number + 40, DOCUMENT)}
    for number in range(BATCH)
]


class Ours:
    """A step of `train contrastive`, without dropout so that gradients can be compared."""

    def __init__(self, matmul: str = "highest", pooling: str = "mean", **changes: Any) -> None:
        settings = load("method", "contrastive")(
            temperature=TEMPERATURE, pooling=pooling, **changes
        )
        model, tokenizer = load_pretrained(model_folder("minilm"))
        lengths = {"query": QUERY, "document": DOCUMENT}
        metadata = {"pooling": pooling, "normalize": True, "lengths": lengths}
        encoder = Encoder(model, tokenizer, metadata)
        self.module, self.matmul = DualEncoder(settings, encoder, 0).eval(), matmul
        self.optimizer = self.module.optimizer()

    def backward(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        torch.set_float32_matmul_precision(self.matmul)
        self.module.backward(self.module.batch(RECORDS, STEP))
        torch.set_float32_matmul_precision("highest")

    def step(self) -> None:
        self.backward()
        self.optimizer.step()

    def gradient(self) -> torch.Tensor:
        """The gradients of the model's weights, one after the other."""
        self.backward()
        return flat(self.module.encoder.model)


class Theirs:
    """A step of the library, as its trainer does it."""

    def __init__(self, pooling: str = "mean") -> None:
        self.model = SentenceTransformer(str(model_folder("minilm")), device="cpu")
        self.model[1] = Pooling(self.model[1].embedding_dimension, pooling)
        self.loss = MultipleNegativesRankingLoss(self.model, scale=1 / TEMPERATURE).eval()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=5e-5, fused=True)

    def features(self, name: str, length: int) -> Any:
        self.model.max_seq_length = length
        return self.model.preprocess([record[name] for record in RECORDS])

    def backward(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        columns = [self.features("query", QUERY), self.features("positive", DOCUMENT)]
        self.loss(columns, None).backward()

    def step(self) -> None:
        self.backward()
        self.optimizer.step()

    def gradient(self) -> torch.Tensor:
        self.backward()
        return flat(self.model[0].auto_model)


def flat(model: Any) -> torch.Tensor:
    return torch.cat(
        [
            weight.grad.flatten()
            for name, weight in model.named_parameters()
            if weight.grad is not None and "pooler" not in name
        ]
    )


def contrastive(given: Given, folder: Path) -> None:
    """Steps of both, with CLS pooling and with the mean."""
    torch.set_num_threads(1)
    matmul = fastest_matmul()
    ways: dict[str, Any] = {}
    for pooling in ("cls", "mean"):
        ways[f"theirs, {pooling}"] = Theirs(pooling)
        ways[f"ours, {pooling}"] = Ours(matmul, pooling)
    ways["cached"] = Ours(matmul, chunk_size=16)
    if has_bf16(torch.device("cpu")):
        ways["bf16"] = Ours(bf16=True)
    else:
        print("the processor has no bfloat16 products: what bfloat16 takes would say nothing")
    lengths = [*[QUERY] * BATCH, *[DOCUMENT] * BATCH]
    model = ways["ours, mean"].module.encoder.model
    limits = {
        name: Products(model, lengths, dtype, gradients=True)
        for name, dtype in (("ours, mean", torch.float32), ("bf16", torch.bfloat16))
    }
    gradients = {name: way.gradient() for name, way in ways.items()}
    steps: dict[str, Way] = {name: way.step for name, way in ways.items()}
    steps |= {f"products of {name}": limits[name] for name in limits if name in ways}
    race = Race(given, steps)
    print(f"matmul precision {matmul}; {race.median('theirs, cls'):.2f} s a step")
    for title, slow, fast, target, least in (
        ("float32, CLS, times as fast as the library", "theirs, cls", "ours, cls", 1.4, None),
        ("float32, mean, times as fast as the library", "theirs, mean", "ours, mean", 1.4, 0.6),
        ("bfloat16, mean, times as fast as the library", "theirs, mean", "bf16", 1.8, None),
        ("gradient caching, times a plain step", "cached", "ours, mean", 1.2, None),
    ):
        if fast not in ways:
            continue
        error = (gradients[slow] - gradients[fast]).norm() / gradients[slow].norm()
        more = slow != "cached"
        floor = f"products of {fast}" if more and fast in limits else ""
        note = f"error of the gradient {error:.0e}"
        title = f"a training step, {title}"
        race.row(title, slow, fast, target, floor, more=more, least=least, note=note)


def santa(given: Given, folder: Path) -> None:
    """The peak of a step in processes of their own."""
    for chunk in (0, 16):
        script = f"from tests.benchmarks.training import santa_step; santa_step({chunk})"
        peak = measured([PYTHON, "-c", script]).peak / 2**30
        title = f"train santa, encoder-only, 64 x 160 tokens, --chunk-size {chunk}: peak"
        tell(title, [peak], 3.0, unit=" GB")


def santa_step(chunk: int) -> None:
    """One step in this process."""
    torch.set_num_threads(1)
    names = WORDS[:8]
    target = " ".join(f"<extra_id_{number}> {name}" for number, name in enumerate(names))
    text = " ".join(f"<extra_id_{number}>" for number in range(8))
    text = " ".join([text] * 20)
    record = {"positive": text, "masked": text, "target": f"{target} <extra_id_8>"}
    method = load("method", "santa")(
        model="minilm", batch_size=64, document_length=160, chunk_size=chunk
    )
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for at in range(64):
            file.write(json.dumps({"id": str(at), "query": f"number {at}", **record}) + "\n")
        file.flush()
        spool = Spool(Records.read([file.name]), method.prepare)
    module = method.complete().build(spool).train()
    module.backward(
        module.batch([spool[at] for at in range(64)], Step(0, "train", 0, [*range(64)]))
    )
