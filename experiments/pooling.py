"""The difference of two systems over several sets of queries, from the differences in each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import chi2

Record = dict[str, Any]
NONE = 1e-12  # variance of a set in which all queries differ equally
Z = 1.96  # standard errors from the mean to the end of a 95 % interval


def pooled(comparisons: Sequence[Record], name: str, *sets: str) -> list[Record]:
    """Each pair's difference over several sets, as a random-effects mean.

    Languages differ by more than chance (`p_Q` is of Cochran's test), so that the interval has to
    hold their variance too (DerSimonian and Laird, Meta-analysis in clinical trials, 1986).
    `fixed` is the mean weighted by the inverse of the variances alone; `over_queries` weighs each
    set by its number of queries, where that is known.

    >>> ends = {"difference_low": -1.96, "difference_high": 1.96}
    >>> pair = {"system": "sda", "against": "start", "difference": 0.0, **ends}
    >>> [found] = pooled([pair | {"measure": each} for each in ("go", "php")], "all", "go", "php")
    >>> round(found["difference_high"], 3), found["p_normal"]
    (1.386, 1.0)
    >>> far = pair | {"difference": 8.0, "difference_low": 6.04, "difference_high": 9.96}
    >>> [found] = pooled([pair | {"measure": "go"}, far | {"measure": "php"}], "all", "go", "php")
    >>> [round(found[each], 2) for each in ("difference", "difference_low", "difference_high", "Q")]
    [4.0, -3.84, 11.84, 32.0]
    """
    of_pair: dict[tuple[str, str], list[Record]] = {}
    for each in comparisons:
        if each.get("measure") in sets:
            of_pair.setdefault((each["system"], each["against"]), []).append(each)
    return [
        {"system": system, "against": against, "measure": name, **random_effects(parts)}
        for (system, against), parts in of_pair.items()
    ]


def random_effects(parts: Sequence[Record]) -> Record:
    """The means of `pooled` over the sets of one pair."""
    differences = np.array([each["difference"] for each in parts])
    widths = [each["difference_high"] - each["difference_low"] for each in parts]
    variances = np.maximum((np.array(widths) / 2 / Z) ** 2, NONE)

    def mean(weights: np.ndarray) -> tuple[float, float]:
        share = weights / weights.sum()
        return float(share @ differences), float(math.sqrt(share**2 @ variances))

    fixed = 1 / variances
    common, error = mean(fixed)
    spread = float(fixed @ (differences - common) ** 2)  # Cochran's Q
    excess = max(0.0, spread - (len(parts) - 1))
    between = excess / (fixed.sum() - (fixed**2).sum() / fixed.sum()) if excess else 0.0
    weights = 1 / (variances + between)
    center, wider = float(weights @ differences / weights.sum()), float(weights.sum() ** -0.5)
    found: Record = {
        "difference": center,
        "difference_low": center - Z * wider,
        "difference_high": center + Z * wider,
        "p_normal": math.erfc(abs(center) / wider / math.sqrt(2)),
        "fixed": common,
        "fixed_low": common - Z * error,
        "fixed_high": common + Z * error,
        "Q": spread,
        "p_Q": float(chi2.sf(spread, len(parts) - 1)),
    }
    if all("queries" in each for each in parts):
        average, error = mean(np.array([float(each["queries"]) for each in parts]))
        found |= {
            "over_queries": average,
            "over_queries_low": average - Z * error,
            "over_queries_high": average + Z * error,
        }
    return found
