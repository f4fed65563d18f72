"""Score the similarity of pairs of embeddings against gold scores."""

from __future__ import annotations

from collections.abc import Iterator

from structkit.commands.score.settings import Settings
from structkit.embeddings.pairs import read_pairs
from structkit.errors import UserError
from structkit.records.jsonl import Record
from structkit.records.lines import shown
from structkit.scoring.similarity import correlation, cosines


def scored(settings: Settings) -> Iterator[Record]:
    """One record for each file: Spearman x 100 of its pairs' cosines against the gold scores.

    `spearman_low` and `spearman_high` are the ends of the 95 % interval; `zero` counts pairs with
    an embedding of zeros, whose cosine is 0.
    """
    for name, path in settings.named.items():
        pairs = read_pairs([path])
        gold = pairs.scores()
        try:
            interval = correlation(cosines(pairs.left, pairs.right), gold, settings.seed)
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
