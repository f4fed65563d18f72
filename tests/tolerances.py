"""How far two computations of the same numbers may lie apart."""

import torch

EPSILON = torch.finfo(torch.float32).eps


def rounding(terms, scale=1.0):
    """The tolerance of sums in any order: of so many terms, each of them not beyond a scale.

    A sum of n numbers is off by at most n roundings, each half an epsilon of what is added; two
    sums differ by twice that. It is absolute: what cancels is off as far as what does not.

    >>> rounding(2)
    {'atol': 2.384185791015625e-07, 'rtol': 0.0}
    """
    return {"atol": terms * scale * EPSILON, "rtol": 0.0}
