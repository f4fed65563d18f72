"""Make training examples from records or judgements."""

from __future__ import annotations

from typing import Annotated

import typer

from structkit.cli.options import (
    Files,
    OnError,
    OnErrorFlag,
    OutputFile,
    Quiet,
    Ray,
    RecordTimeout,
    RejectsFile,
    Seed,
    ShardFlag,
    Workers,
)
from structkit.cli.streams import stream

RECORDS = {
    "reads": (
        "`docstring` and `code`; `bullets` and `description`; `query` and `html` or `content`"
    ),
    "adds": (
        "`query`, `positive`; with --split: `split`; with --negatives-from: `negatives`, "
        "`negative_ids`, `negative_ranks`, `negative_scores`; with --qrels: `query_id`, "
        "`doc_id`"
    ),
}
EXAMPLES = """
structkit pair functions.jsonl --dedupe -o examples.jsonl
structkit pair functions.jsonl --negatives-from run.jsonl --corpus functions.jsonl -o hard.jsonl
"""


def pair(
    files: Files = None,
    query: Annotated[
        str | None,
        typer.Option(help="Field with the query; default: docstring, bullets or query, by record."),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(help="Field with the document; default: code, description, html or content."),
    ] = None,
    positive_template: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Document made of fields: 'title : {title} text : {description}' (SANTA).",
        ),
    ] = None,
    qrels: Annotated[
        str | None,
        typer.Option(help="Judgements: the highest grade is positive, lower ones are negative."),
    ] = None,
    queries: Annotated[
        str | None,
        typer.Option(
            help="With --qrels: file with the judged queries.",
            rich_help_panel="With --qrels and --negatives-from",
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            help="With --qrels or --negatives-from: file with the documents.",
            rich_help_panel="With --qrels and --negatives-from",
        ),
    ] = None,
    negatives_from: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="Draw hard negatives from this run, but none that --qrels grade above 0.",
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Documents of the run to draw from (default 100).",
            rich_help_panel="With --qrels and --negatives-from",
        ),
    ] = None,
    per_query: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Negatives per example (default 1, or 0 if --qrels have no lower grades).",
            rich_help_panel="With --qrels and --negatives-from",
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            help="How much lower negatives must score than the positive.",
            rich_help_panel="With --qrels and --negatives-from",
        ),
    ] = None,
    dedupe: Annotated[
        bool,
        typer.Option("--dedupe", help="Drop examples with a query or document seen before."),
    ] = False,
    split: Annotated[
        str | None,
        typer.Option(metavar="NAME:SHARE,…", help="Add `split`, drawn by id, without leaks."),
    ] = None,
    seed: Seed = 0,
    shard: ShardFlag = None,
    workers: Workers = 1,
    record_timeout: RecordTimeout = None,
    ray: Ray = None,
    on_error: OnErrorFlag = OnError.fail,
    rejects: RejectsFile = None,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Make training examples: adds `query` and `positive`; a docstring is cut out of its code.

    With --qrels, examples are made from judgements; with --negatives-from, they get `negatives`,
    `negative_ids`, `negative_ranks` and `negative_scores`.
    """
    from structkit.commands.pair import Pairing

    if queries is not None and files:
        raise typer.BadParameter(f"--queries is the input: leave out {files[0]!r}")
    if queries is not None and (workers > 1 or record_timeout):
        raise typer.BadParameter(
            "--queries is read by one process: leave out --workers and --record-timeout"
        )
    if ray is not None and (queries or negatives_from):
        raise typer.BadParameter(
            "--queries and --negatives-from are read on this machine: leave out --ray"
        )
    through = stream(
        files if queries is None else [queries],
        output,
        on_error=on_error,
        rejects=rejects,
        shard=shard,
        workers=workers,
        record_timeout=record_timeout,
        ray=ray,
        beside=[qrels, corpus, negatives_from],
    )
    pairing = Pairing(
        query=query,
        positive=positive,
        template=positive_template,
        qrels=qrels,
        queries=queries,
        corpus=corpus,
        negatives_from=negatives_from,
        depth=depth,
        per_query=per_query,
        margin=margin,
        dedupe=dedupe,
        split=split,
        sharded=shard is not None,
        seed=seed,
    )
    through.run(pairing.command, pairing.then, label="pair")
