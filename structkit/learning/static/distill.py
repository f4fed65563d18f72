"""How a table is made: principal components, and weights by token frequency.

As in model2vec (https://github.com/MinishLab/model2vec), whose own distillation needs other
versions of transformers than ours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structkit.embeddings.vectors import Vectors

Weights = NDArray[np.float64]


def components(vectors: Vectors, dimensions: int) -> Vectors:
    """The vectors (tokens, dim) along their first principal components, (tokens, dimensions).

    >>> line = np.array([[0, 0], [1, 1], [3, 3]], np.float32)
    >>> np.abs(np.diff(components(line, 1)[:, 0]) / 2**0.5).round(6).tolist()
    [1.0, 2.0]
    """
    centered = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, axes = np.linalg.eigh(centered.T @ centered)  # the largest component is the last
    main: Vectors = (centered @ axes[:, ::-1][:, :dimensions]).astype(np.float32)
    return main


def smooth_inverse_frequencies(shares: Weights, coefficient: float) -> Weights:
    """The weight a / (a + p) of tokens with the share p of the texts (Arora et al. 2017, eq. 3).

    >>> smooth_inverse_frequencies(np.array([0.0, 0.001]), 0.001).tolist()
    [1.0, 0.5]
    """
    weights: Weights = coefficient / (coefficient + shares)
    return weights


def zipf(tokens: int) -> Weights:
    """The shares of tokens in order of falling frequency, by Zipf's law, as in model2vec.

    >>> zipf(2).round(3).tolist()
    [0.6, 0.4]
    """
    inverse = 1 / np.arange(2, tokens + 2)
    shares: Weights = inverse / inverse.sum()
    return shares


def roots_of_idf(texts: int, having: NDArray[np.int64]) -> Weights:
    """√idf of tokens that `having` of the texts contain, so that products of two get idf.

    The inverse document frequency is that of Lucene's BM25, which is never negative.
    """
    roots: Weights = np.sqrt(np.log1p((texts - having + 0.5) / (having + 0.5)))
    return roots
