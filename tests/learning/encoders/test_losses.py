"""Contrastive losses against numbers worked by hand and a slow plain version."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from structkit.learning.encoders.dual_encoder import duplicates, info_nce
from tests.tolerances import bound


def plain_info_nce(queries, documents, temperature, exclude=None, symmetric=False):
    """The same loss, one query and one document at a time."""
    group = len(documents) // len(queries)

    def score(query, document):
        return sum(a * b for a, b in zip(query, document, strict=True)) / temperature

    total = 0.0
    for i, query in enumerate(queries):
        scores = [
            score(query, document)
            for j, document in enumerate(documents)
            if not (exclude and exclude[i][j])
        ]
        total += math.log(sum(map(math.exp, scores))) - score(query, documents[i * group])
    loss = total / len(queries)
    if not symmetric:
        return loss
    total = 0.0
    for i in range(len(queries)):
        own = documents[i * group]
        scores = [
            score(query, own)
            for j, query in enumerate(queries)
            if not (exclude and exclude[j][i * group])
        ]
        total += math.log(sum(map(math.exp, scores))) - score(queries[i], own)
    return (loss + total / len(queries)) / 2


def test_worked_by_hand():
    queries = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    documents = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    # scores: [1 0 0 1] with positive 1; [0 2 2 0] with positive at place 2: 2
    expected = (math.log(2 * math.e + 2) - 1 + math.log(2 + 2 * math.e**2) - 2) / 2
    found = info_nce(queries, documents, 1.0).item()
    assert expected == pytest.approx(found, abs=bound(4 + 2, 2.0))  # documents, queries; scores


@given(st.integers(1, 4), st.integers(1, 3), st.booleans(), st.booleans(), st.integers(0, 99))
def test_agrees_with_plain_loops(batch, group, symmetric, masked, seed):
    torch.manual_seed(seed)
    queries, documents = torch.randn(batch, 3), torch.randn(batch * group, 3)
    exclude = torch.rand(batch, batch * group) < 0.4
    exclude[torch.arange(batch), torch.arange(batch) * group] = False
    chosen = exclude if masked else None
    rows = exclude.tolist() if masked else None
    expected = plain_info_nce(queries.tolist(), documents.tolist(), 0.7, rows, symmetric)
    found = info_nce(queries, documents, 0.7, chosen, symmetric).item()
    # scores reach a squared length over the temperature
    scale = max(part.square().sum(1).max().item() for part in (queries, documents)) / 0.7
    assert expected == pytest.approx(found, abs=bound(batch * group + 3, scale))


@pytest.mark.parametrize(
    ("queries", "documents", "expected"),
    [
        (["a", "b"], ["x", "y"], None),
        (["a", "b"], ["x", "x"], [[0, 1], [1, 0]]),
        (["a", "a"], ["x", "y"], [[0, 1], [1, 0]]),
        # a hard negative of one query that is the positive of the other, or of its own
        (["a", "b"], ["x", "n", "y", "x"], [[0, 0, 0, 1], [0, 0, 0, 0]]),
        (["a", "b"], ["x", "x", "y", "m"], [[0, 1, 0, 0], [0, 0, 0, 0]]),
        # the positive of an equal query, as a third one's hard negative and as one of its own
        (
            ["a", "a", "b"],
            ["x", "n", "y", "x", "z", "y"],
            [[0, 0, 1, 1, 0, 1], [1, 0, 0, 1, 0, 1], [0, 0, 0, 0, 0, 0]],
        ),
        # hard negatives of an equal query stay negatives
        (["a", "a"], ["x", "n", "y", "m"], [[0, 0, 1, 0], [1, 0, 0, 0]]),
    ],
)
def test_false_negatives(queries, documents, expected):
    found = duplicates(queries, documents)
    assert expected == (None if found is None else found.int().tolist())
