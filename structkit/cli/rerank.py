"""Rerank the hits of runs, or fit the weights of the rankers."""

from __future__ import annotations

from typing import Annotated

import typer

from structkit.cli import ranking
from structkit.cli.options import OutputFile, Quiet, RunFormat, RunFormatFlag
from structkit.cli.streams import apart
from structkit.errors import UserError

RECORDS = {
    "reads": "`query_id`, `doc_id`, `score`; of documents and queries: `id` and their text",
    "writes": "`query_id`, `doc_id`, `score`, `rank`; with --fit: `rankers`, `group`, `repeats`",
}
EXAMPLES = """
structkit rerank run.jsonl --corpus functions.jsonl --queries functions.jsonl --for code -k 10
structkit rerank run.jsonl --corpus functions.jsonl --queries functions.jsonl --ranker path-words=1
"""


def rerank(
    runs: Annotated[
        list[str], typer.Argument(help="Run files, JSONL or TREC; several are averaged.")
    ],
    corpus: Annotated[
        list[str], typer.Option(metavar="FILE", help="The records that were searched.")
    ],
    queries: Annotated[
        list[str], typer.Option(metavar="FILE", help="The queries that were asked.")
    ],
    ranker: ranking.RankerFlag = None,
    preset: ranking.PresetFlag = None,
    weights: ranking.WeightsFile = None,
    group: ranking.GroupFlag = None,
    repeats: ranking.RepeatsFlag = None,
    embeddings: ranking.EmbeddingsFlag = None,
    query_embeddings: ranking.QueryEmbeddingsFlag = None,
    fit: Annotated[
        str | None,
        typer.Option(
            metavar="QRELS",
            help="Instead of a run, write the weights of these rankers that fit judged queries.",
            rich_help_panel="Fitting weights",
        ),
    ] = None,
    folds: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="--fit: cross-validate over this field of the queries; default: ten parts.",
            rich_help_panel="Fitting weights",
        ),
    ] = None,
    held_out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="--fit: also write the run of each fold, with weights fitted to the others.",
            rich_help_panel="Fitting weights",
        ),
    ] = None,
    query_field: Annotated[
        str | None,
        typer.Option(
            help="Field with a query's text; default: the first of query, text, docstring."
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Documents per query.")] = 100,
    format: RunFormatFlag = RunFormat.jsonl,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Order the hits of runs by their scores, scaled to 0 … 1, plus what the rankers add."""
    reads = (*runs, *corpus, *queries, weights, embeddings, query_embeddings, fit)
    apart(output, *reads, held_out=held_out)
    if held_out is not None and fit is None:
        raise UserError("--held-out goes with --fit", "leave it out", status=2)
    from structkit.commands.rerank import fit as command_fit
    from structkit.commands.rerank import rerank as command
    from structkit.records.output import write_records
    from structkit.scoring.runs import write_run

    chosen = ranking.chosen_weights(preset, weights, ranker, group, repeats)
    flags = ranking.ranker_flags(embeddings=embeddings, query_embeddings=query_embeddings)
    if fit is not None:
        fitted = command_fit(
            runs,
            qrels=fit,
            corpus=corpus,
            queries=queries,
            weights=chosen,
            folds=folds,
            flags=flags,
            query_field=query_field,
            held_out=held_out,
            k=k,
        )
        write_records(fitted, output)
        return
    run = command(
        runs,
        corpus=corpus,
        queries=queries,
        weights=chosen,
        flags=flags,
        query_field=query_field,
        k=k,
    )
    write_run(run, output, format=format)
