"""Fuse several runs into one."""

from __future__ import annotations

from typing import Annotated

import typer

from structkit.cli import ranking
from structkit.cli.options import (
    FuseMethod,
    OutputFile,
    Quiet,
    RunFormat,
    RunFormatFlag,
)
from structkit.cli.streams import apart

RECORDS = {
    "reads": "`query_id`, `doc_id`, `score`",
    "writes": "`query_id`, `doc_id`, `score`, `rank`",
}
EXAMPLES = """
structkit fuse dense.jsonl bm25.jsonl -o fused.jsonl
structkit fuse part-0.jsonl part-1.jsonl --method merge -o merged.jsonl
"""


def fuse(
    runs: Annotated[list[str], typer.Argument(help="Run files, JSONL or TREC.")],
    method: Annotated[
        FuseMethod,
        typer.Option(
            help="Reciprocal ranks, or a weighted sum of scaled scores; merge: runs of parts of a "
            "corpus, whose scores stay."
        ),
    ] = FuseMethod.rrf,
    weight: Annotated[
        list[float] | None, typer.Option(help="Weight of a run; give one for each.")
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Documents per query.")] = 100,
    rrf_k: Annotated[int, typer.Option(min=0, help="rrf: added to every rank.")] = 60,
    ranker: ranking.RankerFlag = None,
    preset: ranking.PresetFlag = None,
    weights: ranking.WeightsFile = None,
    group: ranking.GroupFlag = None,
    repeats: ranking.RepeatsFlag = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="With rankers: the records that were searched."),
    ] = None,
    queries: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="With rankers: the queries that were asked."),
    ] = None,
    embeddings: ranking.EmbeddingsFlag = None,
    query_embeddings: ranking.QueryEmbeddingsFlag = None,
    format: RunFormatFlag = RunFormat.jsonl,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Fuse several runs into one, by reciprocal ranks or a weighted sum of scores."""
    others = (*(corpus or ()), *(queries or ()), weights, embeddings, query_embeddings)
    apart(output, *runs, *others)
    from structkit.commands.fuse import fuse as command
    from structkit.scoring.runs import write_run

    run = command(
        runs,
        method=method,
        weights=weight,
        k=k,
        rrf_k=rrf_k,
        order=ranking.chosen_weights(preset, weights, ranker, group, repeats),
        flags=ranking.ranker_flags(embeddings=embeddings, query_embeddings=query_embeddings),
        corpus=corpus,
        queries=queries,
    )
    write_run(run, output, format=format)
