"""Several rankings of a query fused into one: by reciprocal ranks, or by scaled scores.

Hybrid search fuses those by words and by embeddings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from structkit.embeddings.vectors import TextEncoding
from structkit.errors import UserError, flag
from structkit.records.fields import query_text
from structkit.records.jsonl import Record, Records
from structkit.scoring.runs import Run, ranking
from structkit.searching import HYBRID_EMBEDDING_WEIGHT, MIN_FUSION_DEPTH
from structkit.searching.hits import Hit, Ranked, Searcher, dense_rankings

if TYPE_CHECKING:
    from structkit.searching.lexical import LexicalIndex  # `ask` has its own

Scores = dict[str, float]  # doc_id -> score
WeightedRanking = tuple[Scores, float]
DEPTH_GAP = 0.01  # between the scores of two depths
RRF_RANK_OFFSET = 60  # added to every rank: Cormack, Clarke and Büttcher, SIGIR 2009


def rankings_by_query(
    runs: Sequence[Run], weights: Sequence[float]
) -> Iterator[tuple[str, list[WeightedRanking]]]:
    """Yield each query with the rankings of its runs and their weights.

    >>> list(rankings_by_query([{"q": {"a": 1.0}}, {"r": {"b": 2.0}}], [0.5, 1.0]))
    [('q', [({'a': 1.0}, 0.5)]), ('r', [({'b': 2.0}, 1.0)])]
    """
    for query_id in dict.fromkeys(chain.from_iterable(runs)):
        weighted = zip(runs, weights, strict=True)
        yield query_id, [(run[query_id], weight) for run, weight in weighted if query_id in run]


def weighted_sum(rankings: Iterable[WeightedRanking], points: Callable[[Scores], Scores]) -> Scores:
    """Return the sum of each document's weighted points, 0 if a ranking lacks it.

    It does not depend on the order of the rankings: equal points tie.
    """
    parts: dict[str, list[float]] = {}
    for documents, weight in rankings:
        for doc_id, value in points(documents).items():
            parts.setdefault(doc_id, []).append(weight * value)
    return {doc_id: math.fsum(points_of_runs) for doc_id, points_of_runs in parts.items()}


def best_scores(rankings: Iterable[Scores]) -> Scores:
    """Return the best score of each document over several rankings.

    >>> best_scores([{"a": 1.0, "b": 0.5}, {"b": 2.0}])
    {'a': 1.0, 'b': 2.0}
    """
    best: Scores = {}
    for documents in rankings:
        for doc_id, score in documents.items():
            best[doc_id] = max(score, best.get(doc_id, score))
    return best


def hybrid_hits(dense: Sequence[Hit], lexical: Sequence[Hit], k: int, share: float) -> list[Hit]:
    """Return the k best of two rankings of one query by scaled scores, best first.

    `share` (0 … 1) is the weight of the embeddings; the words have the rest.

    >>> hybrid_hits([Hit("a", 0.9), Hit("b", 0.1)], [Hit("b", 7.0), Hit("c", 3.0)], 2, 0.5)
    [Hit(doc_id='b', score=0.5, best=None), Hit(doc_id='a', score=0.5, best=None)]
    """
    best = {hit.doc_id: hit.best for hit in dense}
    weighted = ((dense, share), (lexical, 1 - share))
    rankings = (({hit.doc_id: hit.score for hit in hits}, each) for hits, each in weighted if hits)
    total = weighted_sum(rankings, min_max)
    return top_hits(round_to_float32(total), k, best)


def deepen(ranked: Callable[[int], Iterable[Hit]], k: int) -> list[Hit]:
    """Return the k best hits: of rankings of `DEPTH` each, then new ones of twice as many, …

    So k changes no rank: scores are scaled among the hits of a depth. Later ones score lower.

    >>> by_k = {100: [Hit("a", 1.0), Hit("b", 0.5)], 200: [Hit("c", 1.0), Hit("a", 0.6)]}
    >>> [hit[:2] for hit in deepen(by_k.__getitem__, 101)]
    [('a', 1.0), ('b', 0.5), ('c', 0.49)]
    """
    found, depth = {hit.doc_id: hit for hit in ranked(MIN_FUSION_DEPTH)}, MIN_FUSION_DEPTH
    while depth < k:
        depth *= 2
        new = [hit for hit in ranked(depth) if hit.doc_id not in found]
        lowest = min((hit.score for hit in found.values()), default=0.0) - DEPTH_GAP
        for hit in new:
            found[hit.doc_id] = hit._replace(score=lowest + hit.score - new[0].score)
    return list(found.values())


def hybrid_rankings(
    searcher: Searcher,
    index: LexicalIndex,
    queries: Records,
    k: int,
    encoding: TextEncoding,
    similarity: str,
    field: str | None,
) -> Iterator[Ranked]:
    """Yield the hits of words and embeddings: at least `DEPTH` of each, for a reliable sum."""
    text_of: dict[str, str] = {}  # of the queries that are being encoded
    known = frozenset(index.doc_ids)

    def note(record: Record) -> Record:
        text_of[record["id"]] = query_text(record, field)
        return record

    depth = MIN_FUSION_DEPTH
    while depth < k:  # as `deepened` has it
        depth *= 2
    for query_id, dense in dense_rankings(searcher, queries, depth, encoding, similarity, note):
        if lost := [hit.doc_id for hit in dense if hit.doc_id not in known]:
            missing = f'document "{lost[0]}" has an embedding, but no text in '
            problem = missing + flag("texts")
            raise UserError(problem, "name the records that were encoded")
        lexical = index.search(text_of.pop(query_id), depth)
        yield query_id, deepen(partial(_hybrid_hits_at, dense, lexical), k)[:k]


def _hybrid_hits_at(dense: Sequence[Hit], lexical: Sequence[Hit], depth: int) -> list[Hit]:
    return hybrid_hits(dense[:depth], lexical[:depth], 2 * depth, HYBRID_EMBEDDING_WEIGHT)


def round_to_float32(scores: Scores) -> Scores:
    """Return scores rounded to float32, so that equal ones tie."""
    single = np.fromiter(scores.values(), np.float64, len(scores)).astype(np.float32)
    return dict(zip(scores, single.tolist(), strict=True))


def top_hits(scores: Scores, k: int, best: Mapping[str, Record | None] | None = None) -> list[Hit]:
    """Return the k best of some documents, best first."""
    return [Hit(doc_id, scores[doc_id], (best or {}).get(doc_id)) for doc_id in ranking(scores)[:k]]


def reciprocal_ranks(documents: Scores) -> Scores:
    """Return 1 / (60 + rank) of each document.

    >>> reciprocal_ranks({"a": 0.1, "b": 0.9})
    {'b': 0.01639344262295082, 'a': 0.016129032258064516}
    """
    return {
        doc_id: 1 / (RRF_RANK_OFFSET + rank) for rank, doc_id in enumerate(ranking(documents), 1)
    }


def min_max(documents: Scores) -> Scores:
    """Return the scores of one query, scaled linearly to 0 … 1.

    >>> min_max({"a": 2.0, "b": 4.0, "c": 3.0})
    {'a': 0.0, 'b': 1.0, 'c': 0.5}
    """
    low, high = min(documents.values()), max(documents.values())
    if low == high:  # a document found alone must count more than one that was not found
        return dict.fromkeys(documents, 1.0)
    return {doc_id: (score - low) / (high - low) for doc_id, score in documents.items()}
