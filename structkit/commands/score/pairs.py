"""Score pairs of embeddings: their similarities, their space.

Tests: tests/scoring/test_score_tasks.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from structkit.commands.score import Settings
from structkit.embeddings.pairs import EmbeddingPairs, read_pairs
from structkit.errors import UserError
from structkit.records.jsonl import Record
from structkit.records.lines import input_name
from structkit.scoring.similarity import alignment, correlation, cosines, ends, uniformity

HIGH = 4.0  # gold scores above it make a positive pair, as in SimCSE on STS-B (arXiv 2104.08821)


def similarity(settings: Settings) -> Iterator[Record]:
    """One record for each file: Spearman x 100 of its pairs' cosines against the gold scores.

    `spearman_low` and `spearman_high` are the ends of the 95 % interval; `zero` counts pairs with
    an embedding of zeros, whose cosine is 0.
    """
    for name, path in settings.named_runs.items():
        pairs = read_pairs([path])
        gold = pairs.scores()
        try:
            value, draws = correlation(cosines(pairs.left, pairs.right), gold, settings.seed)
        except UserError as error:
            raise error.at(input_name(path)) from None
        low, high = ends(draws)
        zero = ~(pairs.left.any(1) & pairs.right.any(1))
        counts = {"pairs": len(pairs), "zero": int(zero.sum())}
        interval = {"spearman_low": 100 * low, "spearman_high": 100 * high}
        yield {"run": name, **counts, "spearman": 100 * value, **interval}


def space(settings: Settings) -> Iterator[Record]:
    """One record for each file: alignment of its positive pairs, uniformity of its embeddings.

    Positive are pairs with label 1 where they have labels, with a score above `HIGH` where they
    have scores, and all of them otherwise. Uniformity is over the distinct embeddings of both
    sides. Lower is better for both (Wang and Isola 2020).
    """
    for name, path in settings.named_runs.items():
        pairs = read_pairs([path])
        positive = _positive(pairs)
        both = np.unique(np.concatenate([pairs.left, pairs.right]), axis=0)
        if not positive.any() or len(both) < 2:
            lack = "different embeddings" if positive.any() else "positive pairs"
            raise UserError(f"there are no {lack}", "give more pairs").at(input_name(path))
        yield {
            "run": name,
            "positives": int(positive.sum()),
            "embeddings": len(both),
            "alignment": alignment(pairs.left[positive], pairs.right[positive]),
            "uniformity": uniformity(both),
        }


def _positive(pairs: EmbeddingPairs) -> np.ndarray:
    if "label" in pairs.records[0]:
        return np.array([label in ("1", "True") for label in pairs.labels()])
    if "score" in pairs.records[0]:
        return np.asarray(pairs.scores() > HIGH)
    return np.ones(len(pairs), bool)
