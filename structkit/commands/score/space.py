"""Score the space of embeddings: alignment and uniformity.

Tests: tests/scoring/test_score_tasks.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from structkit.commands.score.scored import Scored, task
from structkit.errors import UserError
from structkit.records.jsonl import Record
from structkit.records.lines import input_name

if TYPE_CHECKING:
    import numpy as np

    from structkit.embeddings.pairs import EmbeddingPairs

HIGH = 4.0  # gold scores above it make a positive pair, as in SimCSE on STS-B (arXiv 2104.08821)


def space(settings: Scored) -> Iterator[Record]:
    """Yield one record per file: alignment of positive pairs, uniformity of embeddings.

    Positive are pairs with label 1 where they have labels, with a score above `HIGH` where they
    have scores, and all of them otherwise. Uniformity is over the distinct embeddings of both
    sides. Lower is better for both (Wang and Isola 2020).
    """
    import numpy as np

    from structkit.embeddings.pairs import read_pairs
    from structkit.scoring.similarity import alignment, uniformity

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
    import numpy as np

    if "label" in pairs.records[0]:
        return np.array([label in ("1", "True") for label in pairs.labels()])
    if "score" in pairs.records[0]:
        return np.asarray(pairs.scores() > HIGH)
    return np.ones(len(pairs), bool)


COMMAND = task(space, Scored, "alignment and uniformity.")
