"""Scores of the passages of pages, by their own words and by their pages' words.

Tests: tests/searching/test_postings.py.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structkit.embeddings.vectors import Floats, Numbers
from structkit.searching.postings import Counts, rarity, saturation

# of pages, which differ more in length than passages do: the best of k1 1.5, 2, 3 and 5, and of
# b 0.75, 0.9 and 1, on 1,350 training pages of structdoc
PAGE_K1, PAGE_B = 3.0, 0.9
BEST = 3  # passages of a page: 1, 3, 5 and 10 gave nDCG@10 0.807, 0.811, 0.799 and 0.764 there


def page_scores(
    counts: Counts, lengths: Counts, pages: Numbers
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return scores of passages, and which are among the best of their pages, (passages,) each.

    `counts` has the count of each asked word in each passage, (passages, words); `pages` the number
    of each one's page. A score, 0 … 1, is the mean of three: BM25 of the page, of the passage, and
    of the page's best passages.
    """
    number = pages.max() + 1
    of_pages = np.zeros((number, counts.shape[1]))
    np.add.at(of_pages, pages, counts)  # (pages, words)
    page_lengths = np.bincount(pages, weights=lengths).astype(float)
    rarities = _rarities(of_pages)
    whole = _bm25(of_pages, page_lengths, rarities, PAGE_K1, PAGE_B)
    # a word that each row of a table has is rare among pages, and no word is on a single page
    own = _bm25(counts, lengths, np.sqrt(rarities * _rarities(counts)))
    order = np.lexsort((-own, pages))
    firsts = np.searchsorted(pages[order], np.arange(number))
    places = np.empty(len(own), np.int64)  # of each passage in its page
    places[order] = np.arange(len(own)) - firsts[pages[order]]
    among = places < BEST
    best = np.bincount(pages[among], weights=own[among], minlength=number).astype(float)
    scores = (_scaled(whole)[pages] + _scaled(own) + _scaled(best)[pages]) / 3
    return np.where(own > 0, scores, 0.0), among


def _rarities(counts: Counts | Floats) -> Floats:
    having = np.count_nonzero(counts, axis=0).tolist()
    return np.array([rarity(len(counts), each) for each in having])


def _bm25(
    counts: Counts | Floats, lengths: Counts | Floats, rarities: Floats, *parameters: float
) -> Floats:
    mean = max(float(lengths.mean()), 1.0)
    scores: Floats = saturation(counts, lengths[:, None], mean, *parameters) @ rarities
    return scores


def _scaled(scores: Floats) -> Floats:
    return scores / max(float(scores.max()), 1e-9)
