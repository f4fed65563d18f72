"""Agreement of cosine similarities with gold scores; alignment and uniformity of embeddings.

Tests: tests/scoring/test_score_tasks.py.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import rankdata

from structkit.embeddings.vectors import IntArray, normalize_rows
from structkit.errors import UserError
from structkit.reproducibility import key
from structkit.scoring.measures import CONFIDENCE, RESAMPLES, Values

MAX_HELD_CELLS = 4_000_000  # cells of a resampled or pairwise matrix held at a time


def cosines(left: Any, right: Any) -> Values:
    """Return the cosine similarity of each pair of rows (pairs,); 0 if a side is all zeros.

    >>> cosines(np.array([[1.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 2.0], [6.0, 8.0]])).tolist()
    [0.0, 1.0]
    """
    first, second = (np.asarray(side, np.float64) for side in (left, right))
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)  # (pairs,)
    dots = np.einsum("pd,pd->p", first, second)
    return np.asarray(dots / np.where(lengths == 0, 1, lengths))


def spearman(first: Values, second: Values) -> Values:
    """Return Spearman's rank correlation along the last axis; ties share mean ranks.

    NaN where one side is constant. Source: Spearman 1904; ties as in scipy's `spearmanr`.

    >>> float(spearman(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0])))
    0.8
    """
    ranks = [rankdata(side, axis=-1) for side in (first, second)]
    centered = [rank - rank.mean(-1, keepdims=True) for rank in ranks]
    products = (centered[0] * centered[1]).sum(-1)
    squares = (centered[0] ** 2).sum(-1) * (centered[1] ** 2).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(products / np.sqrt(squares))


def correlation(similarities: Values, gold: Values, seed: int = 0) -> tuple[float, Values]:
    """Return Spearman's correlation with gold scores, and on draws of the pairs.

    Errors: fewer than two pairs, or gold scores or similarities that are all equal.
    """
    value = float(spearman(similarities, gold)) if len(gold) > 1 else float("nan")
    if np.isnan(value):
        which = "gold scores" if len(np.unique(gold)) < 2 else "similarities"
        raise UserError(
            f"all {len(gold):,} {which} are equal: there is no correlation", "check the pairs"
        )
    return value, bootstrap(len(gold), lambda rows: spearman(similarities[rows], gold[rows]), seed)


def interval_ends(draws: Values) -> tuple[float, float]:
    """Return the ends of the 95 % interval of a statistic's draws, without NaN."""
    outside = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(draws, [outside, 1 - outside])
    return float(low), float(high)


def bootstrap(count: int, statistic: Callable[[IntArray], Values], seed: int = 0) -> Values:
    """Return a statistic on draws of `count` pairs with replacement, (resamples,).

    `statistic` takes the drawn rows (draws, count) and returns (draws,).
    """
    # scipy.stats.bootstrap draws the same, but refuses a single pair
    generator = np.random.default_rng(key(seed, "bootstrap"))
    step, draws = max(1, MAX_HELD_CELLS // count), list[Values]()
    for start in range(0, RESAMPLES, step):
        size = min(step, RESAMPLES - start), count
        draws.append(statistic(generator.integers(0, count, size)))
    return np.concatenate(draws)


def alignment(left: Any, right: Any) -> float:
    """Return the mean squared distance of positive pairs of unit length: 0 is best, 4 worst.

    Source: Wang and Isola 2020 (arXiv 2005.10242), alpha = 2.

    >>> alignment(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
    2.0
    """
    first, second = (np.asarray(normalize_rows(side), np.float64) for side in (left, right))
    return float(((first - second) ** 2).sum(1).mean())


def uniformity(vectors: Any) -> float:
    """Return the log of the mean of exp(-2 |x - y|²) over all pairs of rows on the unit sphere.

    It is 0 if all are equal, and lower if they are spread out. Source: as `alignment`, t = 2.

    >>> uniformity(np.array([[1.0, 0.0], [-1.0, 0.0]]))
    -8.0
    """
    rows = np.asarray(normalize_rows(vectors), np.float64)  # (n, dimensions)
    count, total = len(rows), 0.0
    step = max(1, MAX_HELD_CELLS // count)
    for start in range(0, count, step):
        block = rows[start : start + step]
        squares = np.maximum(0, 2 - 2 * (block @ rows[start:].T))  # (block, n - start)
        later = np.triu(np.ones(squares.shape, bool), k=1)
        total += float(np.exp(-2 * squares[later]).sum())
    return float(np.log(total / (count * (count - 1) / 2)))
