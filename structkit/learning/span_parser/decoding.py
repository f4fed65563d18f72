"""The exact best tree over scored spans; and the splitting of texts too long for one tree.

Tests: tests/learning/span_parser/test_span_parser.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# sentences are shorter; scores and chart grow with the square of the number of words
LONGEST = 512
ENDS = (frozenset((".", "!", "?")), frozenset((";", ":", "--", "—", "–")), frozenset((",", ")")))


def best_spans(scores: NDArray[np.float32]) -> list[tuple[int, int]]:
    """Return the nested spans with the largest sum of positive scores, outer ones first.

    `scores` is (n + 1, n + 1), the score of words i to j (half-open) in row i and column j; spans
    of one word and the whole are left out, as every tree has them. It is CKY, but row by row: the
    best of words i to j is the best of i + 1 to j, if no span begins at i, or the best of i to k
    and of k to j for a positive span i to k, so that time grows with the number of positive scores.
    Ties go to the tree with fewer and shorter spans at the left.
    """
    last = len(scores) - 1
    best = np.zeros((last + 1, last + 1))
    cut = np.zeros((last + 1, last + 1), np.int32)  # k, or 0 if word i is alone
    positive = np.triu(scores > 0, 2)
    positive[0, last] = False
    for start in range(last - 2, -1, -1):
        row, choice = best[start], cut[start]
        row[start + 1 :] = best[start + 1, start + 1 :]
        for end in np.flatnonzero(positive[start]).tolist():
            row[end] += scores[start, end]
            joined = row[end] + best[end, end + 1 :]
            better = joined > row[end + 1 :]
            np.copyto(row[end + 1 :], joined, where=better)
            choice[end + 1 :][better] = end
    return _chosen(positive, cut)


def _chosen(positive: NDArray[np.bool_], cut: NDArray[np.int32]) -> list[tuple[int, int]]:
    spans, stack = [], [(0, len(cut) - 1)]
    while stack:
        start, end = stack.pop()
        if end - start < 2:
            continue
        if positive[start, end]:
            spans.append((start, end))
        middle = int(cut[start, end])
        if middle:
            stack += [(middle, end), (start, middle)]
        else:
            stack.append((start + 1, end))
    return spans


def pieces(words: Sequence[str], longest: int = LONGEST) -> list[tuple[int, int]]:
    """Return the parts of a text with too many words, split after sentence ends.

    Without one, after a semicolon, then a comma, in the second half of the stretch; then anywhere.

    >>> pieces(["a", "b", ".", "c", "d", "e", "f"], longest=4)
    [(0, 3), (3, 7)]
    """
    stretches, start = [], 0
    while len(words) - start > longest:
        end = start + longest
        half = start + longest // 2
        ends = (at for marks in ENDS for at in range(end, half, -1) if words[at - 1] in marks)
        end = next(ends, end)
        stretches.append((start, end))
        start = end
    return [*stretches, (start, len(words))]
