"""Contrastive losses."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import torch
from torch import Tensor
from torch.nn import functional


def info_nce(
    queries: Tensor,
    documents: Tensor,
    temperature: float,
    exclude: Tensor | None = None,
    symmetric: bool = False,
) -> Tensor:
    """The mean over queries of -log softmax of the positive's score among all documents.

    `queries` is (batch, dim), `documents` (batch * group, dim) with the positive of query i at
    i * group; `exclude` (batch, batch * group) is true where a document is a false negative.
    `symmetric` averages with the loss of the positives among all queries.
    Source: van den Oord et al. 2018, eq. 4; SANTA eq. 5.

    >>> eye = torch.eye(2)
    >>> round(info_nce(eye, eye, temperature=1.0).item(), 6)  # log(1 + exp(-1))
    0.313262
    """
    group = len(documents) // len(queries)
    scores = queries @ documents.T / temperature  # (batch, batch * group)
    if exclude is not None:
        scores = scores.masked_fill(exclude, float("-inf"))
    own = torch.arange(len(queries), device=queries.device)  # (batch,)
    loss = functional.cross_entropy(scores.float(), own * group)
    if symmetric:
        # only for positives: a hard negative belongs to no query
        back = scores[:, ::group].T  # (batch positives, batch queries)
        loss = (loss + functional.cross_entropy(back.float(), own)) / 2
    return loss


def duplicates(queries: Sequence[Hashable], documents: Sequence[Hashable]) -> Tensor | None:
    """Which documents are not negatives of a query, (batch, batch * group); None if all are.

    `queries` and `documents` are texts or ids, laid out as in `info_nce`. A document is excluded
    if it equals a positive of the query or of an equal query, anywhere in the batch; a query's own
    positive never is. None is no document, and always excluded.

    >>> duplicates(["a", "b"], ["x", "x"])
    tensor([[False,  True],
            [ True, False]])
    >>> duplicates(["a", "b"], ["x", "y"]) is None
    True
    """
    group = len(documents) // len(queries)
    positives = documents[::group]
    distinct = len(set(queries)) == len(queries) and len(set(documents)) == len(documents)
    if distinct and None not in documents:
        return None
    known: dict[Hashable, set[Hashable]] = {}
    for query, positive in zip(queries, positives, strict=True):
        known.setdefault(query, set()).add(positive)
    rows = []
    for own, query in enumerate(queries):
        row = [document is None or document in known[query] for document in documents]
        row[own * group] = False
        rows.append(row)
    return torch.tensor(rows)
