"""fastText's skip-grams with subwords, trained by the floret library in a separate process.

The library cannot be stopped: Ctrl-C ends its process. Source: Bojanowski et al. 2017, "Enriching
Word Vectors with Subword Information" (https://aclanthology.org/Q17-1010).
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
from typing import Any

import numpy as np
import orjson
from floret.floret import floret as library
from numpy.typing import NDArray

from structkit.errors import UserError, flag

PR_SET_PDEATHSIG = 1  # linux/prctl.h


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
