"""Rerank the hits of runs by the scores of rankers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from structkit.command import Command
from structkit.records.fields import FIRST_OF_QUERY
from structkit.records.jsonl import Record
from structkit.searching.options import RunOutput, RunSettings
from structkit.settings import file_setting, offline_setting, setting, settings_class

RANKERS = "Rankers"
# settings that are a ranker's
OF_RANKERS = ("embeddings", "query_embeddings", "model", "document_field", "offline")


@settings_class
class Settings(RunSettings):
    """Rerank the hits of runs by their scores, scaled to 0 … 1, plus the scores of rankers."""

    corpus: tuple[str, ...] = file_setting("File with the searched records.", ...)
    queries: tuple[str, ...] = file_setting("File with the queries.", ...)
    query_field: str | None = setting(None, "Field with a query's text.", inferred=FIRST_OF_QUERY)
    ranker: tuple[str, ...] = setting(
        (),
        "Ranker to use; `structkit plugins` lists them. Without it, none is used.",
        metavar="NAME[=WEIGHT]",
        complete="ranker",
        group=RANKERS,
    )
    for_: Literal["code", "pages"] | None = setting(
        None, "Preset of rankers and weights.", group=RANKERS
    )
    embeddings: str | None = file_setting(
        "Embeddings of the documents, .npy or JSONL, for maxsim.", group=RANKERS
    )
    query_embeddings: str | None = file_setting(
        "Embeddings of the queries, for maxsim.", group=RANKERS
    )
    model: str | None = setting(
        None, "Model folder or Hub name, for cross-encoder.", short="-m", reads=True, group=RANKERS
    )
    document_field: str | None = setting(
        None, "Field with a document's text, for cross-encoder.", group=RANKERS
    )
    search_weight: float = setting(
        1.0,
        "Weight of the run's own scores; 0 uses only the rankers.",
        low=0.0,
        high=1e6,
        group=RANKERS,
    )
    offline: bool = offline_setting()


def rerank(settings: Settings) -> Iterator[Record]:
    """Run records: the k best hits of each query by their scores and by rankers, best first.

    Each query's scores are scaled to 0 … 1 (several runs: their mean), and every ranker adds its
    weight times its score of the hit. Queries come in the order of the runs. A hit that is not in
    the corpus raises, and so does a query that is not among the queries.
    """
    from structkit.ranking.reranking import Candidates, choose
    from structkit.ranking.reranking import rerank as reranked
    from structkit.scoring.runs import read_run
    from structkit.searching.fusion import min_max, rankings_by_query, weighted_sum
    from structkit.searching.hits import run_records

    weights = choose(settings.for_, settings.ranker)
    given = {name: getattr(settings, name) for name in OF_RANKERS}
    order = weights.ranking({name: value for name, value in given.items() if value})
    order = replace(order, search=settings.search_weight)
    run, *others = [read_run(path) for path in settings.runs]
    if others:  # the mean of the scaled scores
        runs = [run, *others]
        each = rankings_by_query(runs, [1 / len(runs)] * len(runs))
        run = {query_id: weighted_sum(rankings, min_max) for query_id, rankings in each}
    candidates = Candidates.read(run, settings.corpus, settings.queries, settings.query_field)
    for query, hits in candidates:
        best = reranked(query, hits, candidates.records, order, settings.k)
        yield from run_records(query.id, best)


COMMAND = Command(
    rerank,
    Settings,
    lambda settings, output: output.write(rerank(settings)),
    also=(RunOutput,),
    reads="`query_id`, `doc_id`, `score`; of documents and queries: `id` and their text",
    writes="`query_id`, `doc_id`, `score`, `rank`",
    examples="""
structkit rerank run.jsonl --corpus functions.jsonl --queries functions.jsonl --for code -k 10
structkit rerank run.jsonl --corpus functions.jsonl --queries functions.jsonl --ranker path-words=1
""",
)
