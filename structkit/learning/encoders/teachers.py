"""Distillation from a teacher: its scores of a query's positive and negatives.

Tests: tests/learning/encoders/test_teachers.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional


def distill(
    kind: str,
    queries: Tensor,
    documents: Tensor,
    teacher: Tensor,
    *,
    temperature: float,
    teacher_temperature: float,
) -> Tensor:
    """Return the difference of a query's scores of its own documents from a teacher's.

    `queries` is (batch, dim), `documents` (batch * group, dim), the positive first in each group,
    `teacher` (batch, group), NaN where there is no document. `kl`: the divergence of the softmax of
    scores / temperature from the teacher's, mean over queries (Lin et al. 2020, arXiv 2010.11386).
    `margin-mse`: the squared differences of the margins between positive and negatives, mean over
    negatives (Hofstätter et al. 2020, arXiv 2010.02666).

    >>> eye, plain = torch.eye(2), {"temperature": 1, "teacher_temperature": 1}
    >>> distill("margin-mse", eye[:1], eye, torch.tensor([[3.0, 1.0]]), **plain)
    tensor(1.)
    """
    batch, dim = queries.shape
    scores = (queries.unsqueeze(1) * documents.view(batch, -1, dim)).sum(-1)  # (batch, group)
    absent = teacher.isnan()
    if kind == "margin-mse":
        there = ~absent[:, 1:]
        margins = (scores[:, :1] - scores[:, 1:])[there]  # (negatives,)
        wanted = (teacher[:, :1] - teacher[:, 1:])[there]
        return ((margins - wanted) ** 2).sum() / max(1, len(margins))
    lowest = torch.finfo(scores.dtype).min
    student = (scores / temperature).masked_fill(absent, lowest).log_softmax(1)
    taught = (teacher / teacher_temperature).masked_fill(absent, float("-inf")).softmax(1)
    return functional.kl_div(student, taught, reduction="batchmean")


def rows_of(scores: Sequence[Sequence[float]], group: int) -> Tensor:
    """Return a teacher's scores of some groups as one tensor, (batch, group), NaN behind the last.

    >>> rows_of([[1.0, 2.0], [3.0]], 2)
    tensor([[1., 2.],
            [3., nan]])
    """
    return torch.tensor([[*row, *[math.nan] * (group - len(row))] for row in scores])
