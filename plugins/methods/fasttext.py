"""fastText: skip-grams with subwords; a sentence is the mean of its words.

Records: `text`, or `tree`, whose leaves are the words. Sources: Bojanowski et al. 2017
(https://aclanthology.org/Q17-1010), trained by the floret library; StrAE (Opper et al. 2023),
section 5 and appendix A, for the settings. The library cannot be stopped: it learns in a process of
its own, which Ctrl-C ends.
"""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import orjson
from floret.floret import floret as library
from numpy.typing import NDArray

from structkit.errors import UserError, flag
from structkit.learning.strae.settings import PAPER, WordSettings
from structkit.learning.training.spool import Spool
from structkit.plugin import setting
from structkit.records.jsonl import Record
from structkit.seeds import key

DEFAULT = "fastText's default"
PR_SET_PDEATHSIG = 1  # linux/prctl.h


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


@dataclass(frozen=True)
class NGrams:
    """Which n-grams of a word count, and how many buckets their hashes fall into."""

    shortest: int
    longest: int
    buckets: int

    def of(self, word: str) -> Iterator[str]:
        """The n-grams of `<word>`, with its ends marked; an end mark alone is not one.

        >>> list(NGrams(3, 4, 100).of("cat"))
        ['<ca', '<cat', 'cat', 'cat>', 'at>']
        """
        marked = f"<{word}>"
        for start in range(len(marked)):
            for end in range(start + self.shortest, min(start + self.longest, len(marked)) + 1):
                if end - start > 1 or 0 < start < len(marked) - 1:
                    yield marked[start:end]

    def numbers(self, word: str) -> list[int]:
        """The buckets of a word's n-grams."""
        return [fnv(gram) % self.buckets for gram in self.of(word)] if self.buckets else []


def fnv(text: str) -> int:
    """FNV-1a of 32 bits over UTF-8, bytes taken as signed, as fastText's own hash does.

    >>> fnv("a")
    3826002220
    """
    value = 2166136261
    for byte in text.encode("utf-8", "surrogatepass"):
        value ^= byte if byte < 128 else byte | 0xFFFFFF00
        value = value * 16777619 & 0xFFFFFFFF
    return value


@dataclass(frozen=True)
class LearnedRows:
    """The result of training: the words, the buckets of their n-grams, and a row for each."""

    words: list[str]
    buckets: list[int]
    table: NDArray[np.float32]  # (words + buckets, dim)


def learn(arguments: dict[str, Any], ngrams: NGrams) -> LearnedRows:
    """The rows that the library learns; `arguments` are its own settings (`input`, `lr` …).

    Errors: `UserError` with what the library says, for example that no word is frequent enough.
    """
    with tempfile.TemporaryDirectory(prefix="structkit-") as folder:
        target = Path(folder) / "rows"
        order = orjson.dumps([arguments, astuple(ngrams), str(target)])
        subprocess.run([sys.executable, "-m", __name__], input=order, check=False)
        if not target.with_suffix(".json").exists():
            raise UserError(
                "the fastText process died",
                f"if it ran out of memory, lower {flag('buckets')} or give more memory",
            )
        answer = orjson.loads(target.with_suffix(".json").read_bytes())
        if "error" in answer:
            remedy = f"lower {flag('minimum_count')}, or give more records"
            if "NaN" in answer["error"]:
                remedy = f"lower {flag('learning_rate')}"
            raise UserError(f"fastText cannot learn from this: {answer['error']}", remedy)
        return LearnedRows(answer["words"], answer["buckets"], np.load(target.with_suffix(".npy")))


def main() -> None:
    """Learn in this process, as `learn` orders on stdin, and leave the rows where it says.

    Linux ends it when the one that started it is killed; others have no such call.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    arguments, sizes, name = orjson.loads(sys.stdin.buffer.read())
    target = Path(name)
    answer: dict[str, Any]
    try:
        rows = reached_rows(train_library(arguments), NGrams(*sizes))
        np.save(target.with_suffix(".npy"), rows.table)
        answer = {"words": rows.words, "buckets": rows.buckets}
    except (ValueError, RuntimeError) as error:
        answer = {"error": str(error).strip().partition("\n")[0]}
    target.with_suffix(".json").write_bytes(orjson.dumps(answer))


def train_library(arguments: dict[str, Any]) -> Any:
    """The library's own model, trained in this process."""
    chosen = library.args()
    fixed = {
        "model": library.model_name.skipgram,
        "loss": library.loss_name.ns,
        "mode": library.mode_name.fasttext,
        "hashCount": 1,
        "label": "\x01",  # no word is a label
        "verbose": 0,
        "output": "",
        "saveOutput": 0,
    }
    for name, value in {**fixed, **arguments}.items():
        setattr(chosen, name, value)
    model = library.fasttext()
    library.train(model, chosen)
    return model


def reached_rows(model: Any, ngrams: NGrams) -> LearnedRows:
    """The rows of the library's model that a word of its vocabulary uses."""
    words = model.getVocab("ignore")[0]
    buckets = sorted({number for word in words for number in ngrams.numbers(word)})
    table = np.asarray(model.getInputMatrix())  # (words + all buckets, dim)
    kept = table[[*range(len(words)), *(len(words) + each for each in buckets)]]
    return LearnedRows(words, buckets, kept)


if __name__ == "__main__":
    main()
