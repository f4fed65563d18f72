"""Score pairs of embeddings: similarity against gold scores, and how the space looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from structkit.embeddings.pairs import EmbeddingPairs, read_pairs
from structkit.errors import UserError
from structkit.records.jsonl import Record, shown
from structkit.scoring.similarity import alignment, correlation, cosines, uniformity

HIGH = 4.0  # gold scores above it make a positive pair, as in SimCSE on STS-B (arXiv 2104.08821)


def similarity(files: Mapping[str, str], *, seed: int = 0) -> Iterator[Record]:
    """One record for each file: Spearman x 100 of its pairs' cosines against the gold scores.

    `files` maps the names to print to files of pairs. `spearman_low` and `spearman_high` are the
    ends of the 95 % interval; `zero` counts pairs with an embedding of zeros, whose cosine is 0.
    """
    for name, path in files.items():
        pairs = read_pairs([path])
        gold = pairs.scores()
        try:
            interval = correlation(cosines(pairs.left, pairs.right), gold, seed)
        except UserError as error:
            raise error.at(shown(path)) from None
        value, low, high = (100 * each for each in interval)
        zero = ~(pairs.left.any(1) & pairs.right.any(1))
        yield {
            "run": name,
            "pairs": len(pairs),
            "zero": int(zero.sum()),
            "spearman": value,
            "spearman_low": low,
            "spearman_high": high,
        }


def space(files: Mapping[str, str], *, positive_above: float = HIGH) -> Iterator[Record]:
    """One record for each file: alignment of its positive pairs, uniformity of its embeddings.

    Positive are pairs with label 1 where they have labels, with a score above `positive_above`
    where they have scores, and all of them otherwise. Uniformity is over the distinct embeddings of
    both sides. Lower is better for both (Wang and Isola 2020).
    """
    for name, path in files.items():
        pairs = read_pairs([path])
        positive = _positive(pairs, positive_above)
        both = np.unique(np.concatenate([pairs.left, pairs.right]), axis=0)
        if not positive.any() or len(both) < 2:
            missing = "different embeddings" if positive.any() else "positive pairs"
            remedy = "give more pairs"
            if not positive.any() and "score" in pairs.records[0]:
                remedy = "give pairs with higher scores, or lower --positive-above"
            raise UserError(f"there are no {missing}", remedy).at(shown(path))
        yield {
            "run": name,
            "positives": int(positive.sum()),
            "embeddings": len(both),
            "alignment": alignment(pairs.left[positive], pairs.right[positive]),
            "uniformity": uniformity(both),
        }


def _positive(pairs: EmbeddingPairs, above: float) -> np.ndarray:
    first = pairs.records[0]
    if "label" in first:
        return np.array([label in ("1", "True") for label in pairs.labels()])
    if "score" in first:
        return np.asarray(pairs.scores() > above)
    return np.ones(len(pairs), bool)
