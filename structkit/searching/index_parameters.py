"""Search parameters of an approximate index, as faiss names them: `nprobe=16,k_factor_rf=4`."""

from __future__ import annotations

import math

from structkit.errors import UserError, flag

# the least value of each; only a factor has a fraction
LEAST = {"nprobe": 1, "efSearch": 1, "max_codes": 0, "k_factor_rf": 1}
FACTORS = ("k_factor_rf",)
MOST = 2**31 - 1  # faiss ignores larger ones
QUANTIZER = "quantizer_"  # prefix for the index that finds the clusters


def parse_parameters(text: str) -> dict[str, float]:
    """Names and values of `NAME=VALUE,NAME=VALUE`.

    >>> parse_parameters("nprobe=16,quantizer_efSearch=64")
    {'nprobe': 16.0, 'quantizer_efSearch': 64.0}
    """
    values: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = map(str.strip, part.partition("="))
        least = LEAST.get(name.removeprefix(QUANTIZER))
        if least is None:
            raise _wrong(text, f"{name!r} is not one of {', '.join(LEAST)}")
        if name in values:
            raise _wrong(text, f"{name} is given twice")
        try:
            values[name] = float(value)
        except ValueError:
            raise _wrong(text, f"{name} is {value!r}, not a number") from None
        whole = name in FACTORS or values[name].is_integer()
        if not (math.isfinite(values[name]) and least <= values[name] <= MOST and whole):
            kind = "number" if name in FACTORS else "whole number"
            raise _wrong(text, f"{name} is {value}, not a {kind} of at least {least}")
    return values


def _wrong(text: str, problem: str) -> UserError:
    remedy = "for example nprobe=16 for ivf, efSearch=256 for hnsw"
    return UserError(f"{flag('parameters', repr(text))}: {problem}", remedy, status=2)
