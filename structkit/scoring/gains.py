"""Gains of labels: what a label is worth in nDCG."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from math import gcd, lcm

from structkit.errors import UserError, flag, unknown

Gains = Mapping[str, int]
BINARY = "binary"  # every relevance above 0 is worth 1; needs no labels
# ESCI: Exact, Substitute, Complement, Irrelevant
PRESETS = {
    # Reddy et al. 2022, "Shopping Queries Dataset" (https://arxiv.org/abs/2206.06588)
    "esci-documented": "E=1,S=0.1,C=0.01,I=0",
    # the scorer published with it swaps Substitute and Complement
    "esci-official": "E=1,S=0.01,C=0.1,I=0",
    "exact": "E=1,S=0,C=0,I=0",
}
GAIN = re.compile(r"\s*([^=]*[^=\s])\s*=\s*([0-9]+(?:\.[0-9]+)?)\s*")
MOST = 10**6  # trec_eval keeps a count for every grade up to the highest


def parse_gains(text: str) -> Gains:
    """The gain of each label, of a preset or of `LABEL=VALUE,…`, as whole numbers.

    trec_eval takes only whole ones. All are multiplied by the least number that makes them whole:
    nDCG is a quotient of sums of gains and stays the same.

    >>> parse_gains("esci-documented")
    {'E': 100, 'S': 10, 'C': 1, 'I': 0}
    """
    if text not in PRESETS and "=" not in text:
        raise unknown("preset of gains", text, (*PRESETS, BINARY))
    values: dict[str, Fraction] = {}
    for part in PRESETS.get(text, text).split(","):
        match = GAIN.fullmatch(part)
        if not match:
            raise _wrong(text, f"{part!r} is not LABEL=VALUE")
        if match[1] in values:
            raise _wrong(text, f"label {match[1]!r} is given twice")
        values[match[1]] = Fraction(match[2])
    if not any(values.values()):
        raise _wrong(text, "no gain is above 0")
    scale = lcm(*(value.denominator for value in values.values()))
    whole = {label: int(value * scale) for label, value in values.items()}
    common = gcd(*whole.values())
    if max(whole.values()) // common > MOST:
        raise _wrong(text, f"the gains are more than {MOST:,} times apart")
    return {label: value // common for label, value in whole.items()}


def _wrong(text: str, problem: str) -> UserError:
    problem = f"{flag('gains', repr(text))}: {problem}"
    return UserError(problem, "for example E=1,S=0.1,C=0.01,I=0", status=2)
