"""fastText: skip-grams with subwords; a sentence is the mean of its words.

Records: `text`, or `tree`, whose leaves are the words. Sources: Bojanowski et al. 2017
(https://aclanthology.org/Q17-1010), trained by the floret library; StrAE (Opper et al. 2023),
section 5 and appendix A, for the settings. The library cannot be stopped: it learns in a process of
its own, which Ctrl-C ends.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from floret.floret import floret as library
from numpy.typing import NDArray

from structkit.errors import UserError, flag
from structkit.learning.strae.settings import STRAE_APPENDIX, WordSettings
from structkit.learning.training.data import Spool
from structkit.learning.training.method import PassSettings
from structkit.plugin import setting
from structkit.processes import in_child
from structkit.records.jsonl import Record
from structkit.reproducibility import key
from structkit.settings import settings_class

from ._ngrams import MAX_NGRAM_CHARACTERS, MIN_NGRAM_CHARACTERS, buckets_of

MAX_CONTEXT_WORDS = 10  # maximum words between a word and its context (StrAE, appendix A)
PR_SET_PDEATHSIG = 1  # linux/prctl.h

# the words, the buckets of their n-grams, and a row for each of both (words + buckets, dim)
LearnedRows = tuple[list[str], list[int], NDArray[np.float32]]


@settings_class
class Method(WordSettings, PassSettings):
    """Settings of fastText as StrAE's authors used it."""

    example = "structkit train fasttext sentences.jsonl -o models/fasttext"

    learning_rate: float = setting(1e-3, "initial learning rate; it decays to 0", STRAE_APPENDIX)
    buckets: int = setting(
        2_000_000,
        "rows that n-grams share by their hash",
        "fastText's default",
        low=1,
        high=10**9,
        group="model",
    )

    def build(self, spool: Spool) -> Any:
        import torch

        from ._fasttext import FastTextTraining, WordVectors

        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as text:
            text.writelines(" ".join(record["words"]).lower() + "\n" for record in spool)
            text.flush()
            words, numbers, rows = learn(self.arguments(text.name))
        model = WordVectors(self, words, torch.from_numpy(rows), numbers)
        return FastTextTraining(self, model, seen=len(spool) * self.epochs)

    def arguments(self, file: str) -> Record:
        """Return these settings by the library's names."""
        return {
            "input": file,
            "seed": key(self.seed, "fasttext") % (1 << 31),
            "lr": self.learning_rate,
            "dim": self.embedding_size,
            "ws": MAX_CONTEXT_WORDS,
            "epoch": self.epochs,
            "minCount": self.minimum_count,
            "minn": MIN_NGRAM_CHARACTERS,
            "maxn": MAX_NGRAM_CHARACTERS,
            "bucket": self.buckets,
            "thread": 1,  # with more, no two runs give the same result
        }

    @classmethod
    def load(cls, folder: Path, metadata: Record) -> Any:
        from ._fasttext import WordVectors

        return WordVectors.load(cls.of(metadata["settings"]), folder)


def learn(arguments: Record) -> LearnedRows:
    """Return the rows that the library learns by `arguments`, its own settings.

    Errors: `UserError` with the library's message, for example that no word is frequent enough.
    """
    answer = in_child(lambda: _learned(arguments), 0)
    if answer is None:
        raise UserError(
            "the fastText process died",
            f"if it ran out of memory, lower {flag('buckets')} or give more memory",
        )
    if isinstance(answer, str):
        remedy = f"lower {flag('minimum_count')}, or give more records"
        if "NaN" in answer:
            remedy = f"lower {flag('learning_rate')}"
        raise UserError(f"fastText cannot learn from this: {answer.rstrip('.')}", remedy)
    return answer


def _learned(arguments: Record) -> LearnedRows | str:
    """Return the rows, or the library's error. Linux ends it when its parent process is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        return reached_rows(train_library(arguments), arguments["bucket"])
    except (ValueError, RuntimeError) as error:
        return str(error).strip().partition("\n")[0]


def train_library(arguments: Record) -> Any:
    """Return the library's own model, trained in this process."""
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


def reached_rows(model: Any, buckets: int) -> LearnedRows:
    """Return the rows of the library's model that a word of its vocabulary uses."""
    words = model.getVocab("ignore")[0]
    numbers = sorted({number for word in words for number in buckets_of(word, buckets)})
    table = np.asarray(model.getInputMatrix())  # (words + all buckets, dim)
    return words, numbers, table[[*range(len(words)), *(len(words) + each for each in numbers)]]
