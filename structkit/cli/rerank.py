"""Order the hits of runs by rankers."""

from __future__ import annotations

from typing import Annotated

import typer

from structkit.cli.options import OutputFile, Preset, Quiet, RunFormat, RunFormatFlag
from structkit.cli.streams import apart

EXAMPLES = """
structkit rerank run.jsonl --corpus functions.jsonl --queries functions.jsonl --for code
structkit rerank run.jsonl --corpus functions.jsonl --queries functions.jsonl --ranker path-words=1
"""


def rerank(
    runs: Annotated[
        list[str], typer.Argument(help="Run files, JSONL or TREC; of several the mean counts.")
    ],
    corpus: Annotated[
        list[str], typer.Option(metavar="FILE", help="The records that were searched.")
    ],
    queries: Annotated[
        list[str], typer.Option(metavar="FILE", help="The queries that were asked.")
    ],
    ranker: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=WEIGHT]",
            help="A sign to count; structkit plugins lists them. All are off unless named.",
        ),
    ] = None,
    preset: Annotated[
        Preset | None, typer.Option("--for", help="Rankers and weights that go together.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(metavar="FIELD", help="Hits with one value of it are a group: path, a file."),
    ] = None,
    repeats: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="What a hit counts for each better one of its group; 0 keeps one.  [default: 0]",
        ),
    ] = None,
    query_field: Annotated[
        str | None,
        typer.Option(
            help="Field with a query's text; default: the first of query, text, docstring."
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Documents for each query.")] = 100,
    format: RunFormatFlag = RunFormat.jsonl,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Order the hits of runs by their scores, stretched to 0 … 1, and by what rankers add."""
    apart(output, *runs, *corpus, *queries)
    from structkit.commands.rerank import rerank as command
    from structkit.scoring.runs import write_run

    run = command(
        runs,
        corpus=corpus,
        queries=queries,
        rankers=ranker or (),
        preset=preset,
        group=group,
        repeats=repeats,
        query_field=query_field,
        k=k,
    )
    write_run(run, output, format=format)
