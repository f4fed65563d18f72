"""Word vectors in files: embeddings whose ids are words, or lines of a word and its numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structkit.embeddings.reading import MATRICES, read_embeddings
from structkit.errors import UserError
from structkit.records.lines import Lines

FORM = "write a word and its numbers per line, separated by spaces"


def word_vectors(path: str, words: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The vectors of words (words, dimensions), and which of them the file has, (words,).

    A file is `NAME.npy` with its words in `NAME.ids.txt`, Parquet or JSONL, as `encode` writes
    them; any other is text as written by GloVe, word2vec and fastText. Errors: `UserError` for a
    file in another format, or without any of the words.
    """
    if path.endswith((*MATRICES, ".jsonl", ".jsonl.gz")):
        embeddings = read_embeddings([path])
        place = {word: row for row, word in enumerate(embeddings.ids)}
        rows = np.array([place.get(word, -1) for word in words])
        known = rows >= 0
        vectors = np.zeros((len(words), embeddings.dimensions), np.float32)
        vectors[known] = embeddings.vectors[rows[known]]
    else:
        vectors, known = _of_text(path, words)
    if not known.any():
        raise UserError("has none of the words of the records", FORM).at(path)
    return vectors, known


def _of_text(path: str, words: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    place = {word: row for row, word in enumerate(words)}
    known = np.zeros(len(words), bool)
    vectors = np.zeros((0, 0), np.float32)
    for number, line in enumerate(Lines([path]), 1):
        word, *numbers = line.decode("utf-8", "replace").rstrip().split(" ")
        if (number == 1 and len(numbers) < 2) or not (word or numbers):
            continue  # word2vec's first line has the number of words and of dimensions
        if not numbers:
            raise UserError("has no vector", FORM).at(f"{path}:{number}")
        row = place.get(word, -1)
        if not vectors.size:
            vectors = np.zeros((len(words), len(numbers)), np.float32)
        if row < 0 or known[row]:
            continue
        try:
            if len(numbers) != vectors.shape[1]:
                raise ValueError
            vectors[row] = np.array(numbers, np.float32)
        except ValueError:
            raise UserError(f"is not a vector of {vectors.shape[1]} numbers", FORM).at(
                f"{path}:{number}"
            ) from None
        if not np.isfinite(vectors[row]).all():
            raise UserError("has a number that is not finite", FORM).at(f"{path}:{number}")
        known[row] = True
    return vectors, known
