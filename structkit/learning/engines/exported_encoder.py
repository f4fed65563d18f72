"""Encoders that a runtime computes, without torch and without a model's code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from structkit.learning.engines.exported import PLAIN, TOKENIZER
from structkit.learning.engines.runtime import Runtime
from structkit.learning.engines.tokenizer import FastTokenizer
from structkit.learning.training.tokens import Chunk, Tokenizing, TokenModel
from structkit.records.jsonl import Record

SAMPLE = ["a", "Green tea, two cups.", "def add(a, b): return a + b  # <p>café</p> 一二三"]
LONG = "Green tea is picked in spring; water of 80 degrees, two minutes. " * 9
BATCH_TOKENS = 512  # with more, the states of a layer no longer fit in the cache


class ExportedEncoder(TokenModel):
    """An exported encoder: texts to embeddings, as `Encoder` computes them."""

    batch_tokens = BATCH_TOKENS
    precision: str | None = "highest"

    def __init__(self, runtime: Runtime, folder: Path, about: Record) -> None:
        self.runtime, self.name, self.dtype = runtime, runtime.name, runtime.dtype
        self.compute = runtime.opened(folder)
        self.version = about["runtime"]
        padding, split = about["padding"], about["split_special_tokens"]
        plain = folder / PLAIN
        self.tokenizing = Tokenizing(
            FastTokenizer(folder / TOKENIZER, padding, split=split),
            about["lengths"],
            about["prompts"],
            about["mcls_every"],
            plain=FastTokenizer(plain, padding, split=split) if plain.exists() else None,
            positions=about["positions"],
        )
        self.truncation = self.tokenizing.truncation
        self.sample = np.array(about["sample"], np.float32)

    @property
    def model(self) -> ExportedEncoder:
        """The encoder itself: it needs no other."""
        return self

    def embeddings(self, inputs: Sequence[list[int] | Chunk]) -> NDArray[np.float32]:
        """The embeddings of some inputs, computed together, (inputs, dim)."""
        ids = [each.ids if isinstance(each, Chunk) else each for each in inputs]
        lengths = np.array([len(row) for row in ids])
        mask = np.arange(lengths.max()) < lengths[:, None]  # (inputs, length)
        padded = np.full(mask.shape, self.tokenizing.padding, np.int64)
        padded[mask] = np.concatenate([np.array(row, np.int64) for row in ids])
        return self.compute(padded, mask.astype(np.int64))

    def agreement(self) -> float:
        """The least cosine between its embeddings of sample texts and those of torch."""
        embeddings = self.embeddings(self.inputs(SAMPLE, "document"))
        self.truncation.clear()
        cosines = (embeddings * self.sample).sum(1) / (
            np.linalg.norm(embeddings, axis=1) * np.linalg.norm(self.sample, axis=1)
        )
        return float(np.nan_to_num(cosines).min())

    def agrees(self) -> bool:
        """Whether it computes here what torch computed when the encoder was exported."""
        runtime = self.runtime
        return self.version == runtime.version() and self.agreement() >= runtime.agreement
