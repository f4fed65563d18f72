"""Hard negatives: documents that a run ranks high but that are not answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from structkit.errors import UserError, flag, leave_out
from structkit.pairs.judged import Corpus
from structkit.records.jsonl import Record
from structkit.scoring.qrels import Qrels
from structkit.scoring.runs import ranking, read_run
from structkit.seeds import random_for


@dataclass
class HardNegatives:
    """A run over a corpus; called with examples, it gives each of them hard negatives.

    Drawn by `(seed, id)` from the first `depth` documents of the run, in rank order. Left out are
    the example's own document (`doc_id`, otherwise its id), documents judged above 0 for its query,
    and those with the positive's text or an empty one. With a `margin`, negatives must score lower
    than the positive by more than it. Source: SANTA, section 4 (one of the top 100).
    """

    run_path: str
    corpus: Corpus
    qrels: Qrels = field(default_factory=dict)
    depth: int = 100
    per_query: int = 1
    margin: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        self.run = read_run(self.run_path)
        self.top = {query: ranking(scores)[: self.depth] for query, scores in self.run.items()}
        self.corpus.wanted.update(*self.top.values())

    def __call__(self, examples: Iterable[Record]) -> Iterator[Record]:
        for example in examples:
            yield {**example, **self._negatives(example)}

    def _negatives(self, example: Record) -> Record:
        query_id = str(example.get("query_id", example["id"]))
        if query_id not in self.run:
            raise UserError(
                f'query "{query_id}" is not in {self.run_path}',
                "search with the same queries, their ids in `query_id` or `id`",
            )
        limit = self._limit(query_id, self._own(example))
        ranks = self._candidates(example, query_id, limit)
        if not ranks:
            raise self._none_left(example, query_id, limit)
        drawn = random_for(self.seed, example["id"], "negatives")
        ranks = sorted(drawn.sample(ranks, min(self.per_query, len(ranks))))
        ids = [self.top[query_id][rank - 1] for rank in ranks]
        return {
            "negatives": [self._text(doc_id) for doc_id in ids],
            "negative_ids": ids,
            "negative_ranks": ranks,
            "negative_scores": [self.run[query_id][doc_id] for doc_id in ids],
        }

    def _candidates(self, example: Record, query_id: str, limit: float) -> list[int]:
        """The ranks, from 1, of the documents that may be negatives."""
        positive = example["positive"].split()
        return [
            rank
            for rank, doc_id in enumerate(self.top[query_id], 1)
            if self._allowed(example, query_id, doc_id, limit)
            and self.corpus.usable(doc_id)
            and self._text(doc_id).split() != positive
        ]

    def _allowed(self, example: Record, query_id: str, doc_id: str, limit: float) -> bool:
        """Whether a document is not an answer, and scores below the limit."""
        return (
            doc_id != self._own(example)
            and self.qrels.get(query_id, {}).get(doc_id, 0) <= 0
            and self.run[query_id][doc_id] < limit
        )

    def _own(self, example: Record) -> str:
        return str(example.get("doc_id", example["id"]))

    def _none_left(self, example: Record, query_id: str, limit: float) -> UserError:
        """The error for an example without negatives, with a remedy that helps."""
        rest = ranking(self.run[query_id])[self.depth :]
        remedy = f"search for more documents ({flag('k')}), or {leave_out()}"
        if any(self._allowed(example, query_id, doc_id, limit) for doc_id in rest):
            remedy = f"raise {flag('depth')}"
        elif self._candidates(example, query_id, math.inf):
            remedy = f"lower {flag('margin')}, or leave it out"
        return UserError(f"no negative is left among the first {self.depth} documents", remedy)

    def _limit(self, query_id: str, own: str) -> float:
        if self.margin is None:
            return math.inf
        if own not in self.run[query_id]:
            raise UserError(
                f'{self.run_path} has no score for the positive "{own}"',
                f"search deeper, or leave {flag('margin')} out",
            )
        return self.run[query_id][own] - self.margin

    def _text(self, doc_id: str) -> str:
        return self.corpus.text(doc_id, self.run_path)
