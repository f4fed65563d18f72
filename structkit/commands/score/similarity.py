"""Score pairs of embeddings: how well their similarities follow gold scores.

Tests: tests/scoring/test_score_tasks.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from structkit.commands.score.scored import Scored, task
from structkit.errors import UserError
from structkit.records.jsonl import Record
from structkit.records.lines import input_name


def similarity(settings: Scored) -> Iterator[Record]:
    """Yield one record per file: Spearman x 100 of its pairs' cosines and gold scores.

    `spearman_low` and `spearman_high` are the ends of the 95 % interval; `zero` counts pairs with
    an embedding of zeros, whose cosine is 0.
    """
    from structkit.embeddings.pairs import read_pairs
    from structkit.scoring.similarity import correlation, cosines, ends

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


COMMAND = task(similarity, Scored, "Spearman x 100 of cosines with `score`.")
