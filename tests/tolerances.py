"""How far two computations of the same numbers may lie apart."""

import torch

TINY = 2 * 128  # the terms of an embedding of the size tiny: two layers' longest sums


def bound(terms, scale=1.0, kind=torch.float32):
    """How far sums in any order may lie apart: of so many terms, each of them not beyond a scale.

    A sum of n numbers is off by at most n roundings, each half an epsilon of what is added; two
    sums differ by twice that. It is absolute: what cancels is off as far as what does not. Sums
    that follow one after the other count together.

    >>> bound(2)
    2.384185791015625e-07
    >>> bound(2, 10, torch.float64)
    4.440892098500626e-15
    """
    return terms * scale * torch.finfo(kind).eps


def rounding(terms, scale=1.0, kind=torch.float32):
    """The bound as torch and NumPy take it: `assert_close(one, other, **rounding(8))`.

    >>> rounding(2)
    {'atol': 2.384185791015625e-07, 'rtol': 0.0}
    """
    return {"atol": bound(terms, scale, kind), "rtol": 0.0}
