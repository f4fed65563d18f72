"""Probabilities of the relevant documents in a run.

Tests: tests/commands/test_plot.py.
"""

from collections.abc import Mapping

import numpy as np

from structkit.embeddings.vectors import Floats
from structkit.scoring.qrels import Qrels
from structkit.scoring.runs import Run


def probabilities(run: Run, qrels: Qrels, temperature: float = 1.0) -> Floats:
    """Return the highest softmax probability of a relevant document, for each judged query.

    >>> import math
    >>> run = {"q": {"a": math.log(3.0), "b": 0.0}}
    >>> probabilities(run, {"q": {"a": 1}, "r": {"c": 1}}).round(6).tolist()
    [0.75, 0.0]
    """
    below = (
        _scores_below_best(run.get(query_id, {}), judged) for query_id, judged in qrels.items()
    )
    with np.errstate(over="ignore"):  # far below the best is a probability of 0
        return np.array([1 / np.exp(each / temperature).sum() for each in below])


def _scores_below_best(documents: Mapping[str, float], judged: Mapping[str, int]) -> Floats:
    """Return each score less the best relevant document's, infinite if none was found.

    A document that is infinitely far above it makes its probability 0.
    """
    found = [documents[name] for name in judged if judged[name] > 0 and name in documents]
    if not found:
        return np.array([np.inf])
    return np.array(list(documents.values()), np.float64) - max(found)


def fitted_temperature(run: Run, qrels: Qrels) -> float:
    """Return the temperature that makes the found relevant documents most probable.

    It is one of 49 from a thousandth to a thousand times the scores' mean deviation. Source: Guo et
    al., ICML 2017, temperature scaling.

    >>> run = {f"q{n}": {"a": 0.2, "b": 0.1} for n in range(5)}
    >>> qrels = {f"q{n}": {"a" if n else "b": 1} for n in range(5)}  # a is right in 4 of 5
    >>> probabilities(run, qrels, fitted_temperature(run, qrels)).round(1).tolist()
    [0.2, 0.8, 0.8, 0.8, 0.8]
    """
    below = [
        _scores_below_best(run.get(query_id, {}), judged) for query_id, judged in qrels.items()
    ]
    below = [each for each in below if np.isfinite(each).all()]
    spread = float(np.mean([each.std() for each in below])) if below else 0.0
    if not spread:  # all are equal, or none was found: any will do
        return 1.0

    def surprise(temperature: float) -> float:
        # logaddexp does not overflow where exp does
        return float(sum(np.logaddexp.reduce(each / temperature) for each in below))

    return float(min(spread * np.geomspace(1e3, 1e-3, 49), key=surprise))
