"""Probabilities of the relevant documents in a run.

Tests: tests/commands/test_plot.py.
"""

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
    below = _scores_below_best(run, qrels)
    with np.errstate(over="ignore"):  # far below the best is a probability of 0
        return np.array([1 / np.exp(each / temperature).sum() for each in below])


def _scores_below_best(run: Run, qrels: Qrels) -> list[Floats]:
    """Return for each judged query its scores less the best relevant document's.

    A document that is infinitely far above it makes its probability 0, where none was found.
    """
    below = list[Floats]()
    for query_id, judged in qrels.items():
        documents = run.get(query_id, {})
        found = [documents[name] for name in judged if judged[name] > 0 and name in documents]
        scores = np.array([*documents.values()] if found else [np.inf], np.float64)
        below.append(scores - max(found, default=0))
    return below


def fitted_temperature(run: Run, qrels: Qrels) -> float:
    """Return the temperature that makes the found relevant documents most probable.

    It is one of 49 from a thousandth to a thousand times the scores' mean deviation. Source: Guo et
    al., ICML 2017, temperature scaling.

    >>> run = {f"q{n}": {"a": 0.2, "b": 0.1} for n in range(5)}
    >>> qrels = {f"q{n}": {"a" if n else "b": 1} for n in range(5)}  # a is right in 4 of 5
    >>> probabilities(run, qrels, fitted_temperature(run, qrels)).round(1).tolist()
    [0.2, 0.8, 0.8, 0.8, 0.8]
    """
    below = [each for each in _scores_below_best(run, qrels) if np.isfinite(each).all()]
    spread = float(np.mean([each.std() for each in below])) if below else 0.0
    if not spread:  # all are equal, or none was found: any will do
        return 1.0

    def surprise(temperature: float) -> float:
        # logaddexp does not overflow where exp does
        return float(sum(np.logaddexp.reduce(each / temperature) for each in below))

    return float(min(spread * np.geomspace(1e3, 1e-3, 49), key=surprise))
