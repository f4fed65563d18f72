"""The difference of two systems over several sets of queries, from the differences in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import chi2, t

Record = dict[str, Any]
NONE = 1e-12  # variance of a set in which all queries differ equally
Z = 1.96  # standard errors from the mean to the end of a 95 % interval


def pooled(comparisons: Sequence[Record], name: str, *sets: str) -> list[Record]:
    """Each pair's difference over several sets, as a random-effects mean.

    Languages differ by more than chance (`p_Q` is of Cochran's test), so that the interval has to
    hold their variance too. Weights: DerSimonian and Laird, Meta-analysis in clinical trials, 1986.
    Interval, by Student's t with `degrees` of freedom: Hartung and Knapp, A refined method for the
    meta-analysis of controlled clinical trials, 2001.

    >>> ends = {"difference_low": -1.96, "difference_high": 1.96}
    >>> pair = {"system": "sda", "against": "start", "difference": 0.0, **ends}
    >>> far = pair | {"difference": 8.0, "difference_low": 6.04, "difference_high": 9.96}
    >>> [found] = pooled([pair | {"measure": "go"}, far | {"measure": "php"}], "all", "go", "php")
    >>> [round(found[each], 1) for each in ("difference", "difference_low", "difference_high", "Q")]
    [4.0, -46.8, 54.8, 32.0]
    """
    of_pair: dict[tuple[str, str], list[Record]] = {}
    for each in comparisons:
        if each.get("measure") in sets:
            of_pair.setdefault((each["system"], each["against"]), []).append(each)
    return [
        {"system": system, "against": against, "measure": name, **random_effects(parts)}
        for (system, against), parts in of_pair.items()
        if len(parts) > 1
    ]


def random_effects(parts: Sequence[Record]) -> Record:
    """The mean of `pooled` over the sets of one pair."""
    differences = np.array([each["difference"] for each in parts])
    widths = [each["difference_high"] - each["difference_low"] for each in parts]
    variances = np.maximum((np.array(widths) / 2 / Z) ** 2, NONE)
    fixed, degrees = 1 / variances, len(parts) - 1
    common = float(fixed @ differences / fixed.sum())
    spread = float(fixed @ (differences - common) ** 2)  # Cochran's Q
    between = max(0.0, spread - degrees) / (fixed.sum() - (fixed**2).sum() / fixed.sum())
    weights = 1 / (variances + between)
    center = float(weights @ differences / weights.sum())
    error = float((weights @ (differences - center) ** 2 / degrees / weights.sum()) ** 0.5)
    half = float(t.ppf(0.975, degrees)) * error
    return {
        "difference": center,
        "difference_low": center - half,
        "difference_high": center + half,
        "degrees": degrees,
        "p_t": float(2 * t.sf(abs(center) / max(error, NONE), degrees)),
        "fixed": common,
        "Q": spread,
        "p_Q": float(chi2.sf(spread, degrees)),
    }
