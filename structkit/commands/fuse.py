"""Fuse several runs into one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from structkit.command import Command
from structkit.errors import flag, wrong_usage
from structkit.records.jsonl import Record
from structkit.searching.options import RunOutput, RunSettings
from structkit.settings import setting, settings_class


@settings_class
class Settings(RunSettings):
    """Fuse several runs into one, by reciprocal ranks or a weighted sum of scores."""

    method: Literal["rrf", "weighted", "merge"] = setting(
        "rrf",
        "Fusion method. rrf: reciprocal ranks; weighted: a weighted sum of scaled scores; "
        "merge: runs of parts of a corpus, with their scores.",
    )
    weight: tuple[float, ...] = setting(
        (), "Weight of a run; give one per run.", low=-1e6, high=1e6
    )

    def __post_init__(self) -> None:
        if self.weight and len(self.weight) != len(self.runs):
            raise wrong_usage(
                f"{flag('weight')} gives {len(self.weight)} weights for {len(self.runs)} runs",
                "give one for each run",
            )
        if self.method == "merge" and self.weight:
            raise wrong_usage(
                f"{flag('method', 'merge')} takes no {flag('weight')}", "leave it out"
            )


def fuse(settings: Settings) -> Iterator[Record]:
    """Run records: the k best documents of each query by all runs together, best first.

    `rrf` adds weight / (60 + rank) over the runs that found the document (Cormack, Clarke and
    Büttcher, SIGIR 2009). `weighted` adds weight * score, with each query's scores scaled to
    0 … 1 (all equal: 1). `merge` keeps the scores: runs of the same queries on parts of a corpus
    become that on the whole; of a document in several, the best score counts. The weights are 1
    unless given, one for each run. Queries come in the order of their first appearance; equal
    scores are ordered by descending document id.
    """
    from structkit.scoring.runs import read_run
    from structkit.searching.fusion import (
        best_scores,
        min_max,
        rankings_by_query,
        reciprocal_ranks,
        top_hits,
        weighted_sum,
    )
    from structkit.searching.hits import run_records

    runs = [read_run(path) for path in settings.runs]
    points = reciprocal_ranks if settings.method == "rrf" else min_max
    for query_id, rankings in rankings_by_query(runs, settings.weight or [1.0] * len(runs)):
        if settings.method == "merge":
            scores = best_scores(ranking for ranking, _ in rankings)
        else:
            scores = weighted_sum(rankings, points)
        yield from run_records(query_id, top_hits(scores, settings.k))


COMMAND = Command(
    fuse,
    Settings,
    lambda settings, output: output.write(fuse(settings)),
    also=(RunOutput,),
    reads="`query_id`, `doc_id`, `score`",
    writes="`query_id`, `doc_id`, `score`, `rank`",
    examples="""
structkit fuse dense.jsonl bm25.jsonl -o fused.jsonl
structkit fuse part-0.jsonl part-1.jsonl --method merge -o merged.jsonl
""",
)
