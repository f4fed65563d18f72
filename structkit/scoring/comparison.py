"""Two runs on the same queries: is the difference more than chance?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from structkit.scoring.measures import Values, interval
from structkit.seeds import key

PERMUTATIONS = 10_000
AT_ONCE = 1 << 22  # signs that are drawn together
EQUAL = 1e-12  # a smaller difference is a tie, not a win


@dataclass(frozen=True)
class Comparison:
    """The result of a paired comparison of one measure over the same queries."""

    difference: float  # mean of ours minus theirs
    difference_low: float  # 95 % interval, by bootstrap over queries
    difference_high: float
    p_randomization: float  # two-sided, by flipping the signs of the differences
    p_t: float  # two-sided, Student's paired test
    wins: int
    ties: int
    losses: int


def compare(ours: Values, theirs: Values, seed: int = 0) -> Comparison:
    """Compare the values of one measure on the same queries, both (queries,).

    Sources: Smucker, Allan, Carterette, CIKM 2007 (randomization test); Sakai, SIGIR 2006.

    >>> same = compare(np.array([1.0, 0.5]), np.array([1.0, 0.5]))
    >>> same.difference, same.p_randomization, same.p_t, same.ties
    (0.0, 1.0, 1.0, 2)
    """
    differences = np.where(np.abs(ours - theirs) < EQUAL, 0.0, ours - theirs)  # (queries,)
    low, high = interval(differences[:, None], seed)
    return Comparison(
        float(differences.mean()),
        float(low[0]),
        float(high[0]),
        randomization(differences, seed),
        student(differences),
        int((differences > 0).sum()),
        int((differences == 0).sum()),
        int((differences < 0).sum()),
    )


def randomization(differences: Values, seed: int = 0) -> float:
    """The share of random signs under which the mean is at least as far from 0 as observed.

    All 2^n signs are tried where these are not more than `PERMUTATIONS`; then the share is exact.

    >>> randomization(np.array([1.0, 2.0, 3.0]))  # +++ and ---, of 8
    0.25
    """
    # scipy.stats.permutation_test draws other signs: where it tries not all, p is another (0.088
    # for 0.094 over 200 differences)
    nonzero = differences[differences != 0]  # the others do not change the mean
    observed = abs(nonzero.sum()) - EQUAL
    if 2 ** len(nonzero) <= PERMUTATIONS:
        numbers = np.arange(2 ** len(nonzero))[:, None]
        signs = 1.0 - 2.0 * (numbers >> np.arange(len(nonzero)) & 1)  # (2^n, n)
        return float((np.abs(signs @ nonzero) >= observed).mean())
    generator = np.random.default_rng(key(seed, "randomization"))
    size, extreme = max(1, AT_ONCE // len(nonzero)), 0
    for first in range(0, PERMUTATIONS, size):
        count = min(size, PERMUTATIONS - first)
        signs = 1.0 - 2.0 * generator.integers(0, 2, (count, len(nonzero)), np.int8)
        extreme += int((np.abs(signs @ nonzero) >= observed).sum())
    return (extreme + 1) / (PERMUTATIONS + 1)


def student(differences: Values) -> float:
    """The p value of Student's paired test; differences that are all equal have no spread.

    >>> round(student(np.array([1.0, 2.0, 3.0])), 4)  # t = 2 / (1 / sqrt(3)), two degrees
    0.0742
    """
    if np.ptp(differences) == 0:
        return 0.0 if differences[0] else 1.0
    from scipy.special import stdtr  # imported only for a comparison: it takes 0.3 s

    count = len(differences)
    t = differences.mean() / (differences.std(ddof=1) / math.sqrt(count))
    return float(2 * stdtr(count - 1, -abs(t)))
