"""Score how the space of embeddings looks: alignment and uniformity."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from structkit.commands.score.settings import Settings
from structkit.embeddings.pairs import EmbeddingPairs, read_pairs
from structkit.errors import UserError
from structkit.records.jsonl import Record
from structkit.records.lines import shown
from structkit.scoring.similarity import alignment, uniformity

HIGH = 4.0  # gold scores above it make a positive pair, as in SimCSE on STS-B (arXiv 2104.08821)


def scored(settings: Settings) -> Iterator[Record]:
    """One record for each file: alignment of its positive pairs, uniformity of its embeddings.

    Positive are pairs with label 1 where they have labels, with a score above `HIGH` where they
    have scores, and all of them otherwise. Uniformity is over the distinct embeddings of both
    sides. Lower is better for both (Wang and Isola 2020).
    """
    for name, path in settings.named.items():
        pairs = read_pairs([path])
        positive = _positive(pairs)
        both = np.unique(np.concatenate([pairs.left, pairs.right]), axis=0)
        if not positive.any():
            remedy = "give pairs with higher scores" if _has_scores(pairs) else "give more pairs"
            raise UserError("there are no positive pairs", remedy).at(shown(path))
        if len(both) < 2:
            raise UserError("there are no different embeddings", "give more pairs").at(shown(path))
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
    if _has_scores(pairs):
        return np.asarray(pairs.scores() > HIGH)
    return np.ones(len(pairs), bool)


def _has_scores(pairs: EmbeddingPairs) -> bool:
    return "score" in pairs.records[0]
