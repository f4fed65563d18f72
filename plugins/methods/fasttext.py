"""fastText: skip-grams with subwords; a sentence is the mean of its words.

Records: `text`, or `tree`, whose leaves are the words. Sources: Bojanowski et al. 2017
(https://aclanthology.org/Q17-1010), trained by the floret library; StrAE (Opper et al. 2023),
section 5 and appendix A, for the settings.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from structkit.errors import UserError, flag
from structkit.learning.strae.settings import PAPER, WordSettings
from structkit.learning.training.spool import Spool
from structkit.plugin import setting
from structkit.records.jsonl import Record
from structkit.seeds import key

from ._skip_grams import NGrams, learn

DEFAULT = "fastText's default"


@dataclass(frozen=True)
class Method(WordSettings):
    """Settings of fastText as StrAE's authors used it."""

    example: ClassVar[str] = "structkit train fasttext sentences.jsonl -o models/fasttext"

    learning_rate: float = setting(1e-3, "initial learning rate; it falls to 0", PAPER)
    window: int = setting(
        10, "maximum words between a word and its context", PAPER, low=1, high=10_000, group="loss"
    )
    shortest_ngram: int = setting(
        3, "minimum characters of an n-gram", DEFAULT, low=1, high=100, group="model"
    )
    longest_ngram: int = setting(
        6, "maximum characters of an n-gram; 0: none", DEFAULT, low=0, high=100, group="model"
    )
    buckets: int = setting(
        2_000_000,
        "rows that n-grams share, by their hash",
        DEFAULT,
        low=1,
        high=10**9,
        group="model",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        shortest, longest = self.shortest_ngram, self.longest_ngram
        if shortest > longest > 0:
            raise UserError(
                f"{flag('shortest_ngram', shortest)} is above {flag('longest_ngram', longest)}",
                f"use {flag('longest_ngram', 0)} to learn words alone",
                status=2,
            )

    def build(self, spool: Spool, *, offline: bool = False) -> Any:
        import torch

        from ._word_vectors import FastTextTraining, WordVectors

        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as text:
            for index in range(len(spool)):
                line = " ".join(spool[index]["words"])
                text.write((line.lower() if self.lowercase else line) + "\n")
            text.flush()
            rows = learn(self.arguments(text.name), self.ngrams)
        table = torch.from_numpy(rows.table)
        model = WordVectors(self, self.ngrams, rows.words, table, rows.buckets)
        return FastTextTraining(self, model, seen=len(spool) * self.epochs)

    @property
    def ngrams(self) -> NGrams:
        return NGrams(self.shortest_ngram, self.longest_ngram, self.buckets)

    def arguments(self, file: str) -> dict[str, Any]:
        """These settings by the library's names."""
        return {
            "input": file,
            "seed": key(self.seed, "fasttext") % (1 << 31),
            "lr": self.learning_rate,
            "dim": self.embedding_size,
            "ws": self.window,
            "epoch": self.epochs,
            "minCount": self.minimum_count,
            "minn": self.shortest_ngram,
            "maxn": self.longest_ngram,
            "bucket": self.buckets if self.longest_ngram else 0,
            "thread": 1,  # with more, no two runs give the same result
        }

    @classmethod
    def load(cls, folder: Path, facts: Record) -> Any:
        from ._word_vectors import WordVectors

        settings = cls.of(facts["settings"])
        return WordVectors.load(settings, settings.ngrams, folder)
