"""Other tools' formats to records, and back."""

from __future__ import annotations

from typing import Annotated

import typer

from structkit.cli.completion import plugin_names
from structkit.cli.options import (
    OnError,
    OnErrorFlag,
    Quiet,
    RejectsFile,
)

RECORDS = {
    "reads": "what the formats hold: corpus, queries, judgements, runs, examples",
    "writes": (
        "corpus: `id`, `title`, `text`; queries: `id`, `text`; qrels: `query_id`, `doc_id`, "
        "`relevance`; run: `query_id`, `doc_id`, `score`, `rank`; examples: `query`, "
        "`positive`, `negatives`"
    ),
}
EXAMPLES = """
structkit convert functions.jsonl --to beir -o beir
structkit convert run.jsonl --to trec -o run.txt
"""


def convert(
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Files, also .gz, or a folder in the format; stdin if none, or for -."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            autocompletion=plugin_names("format"),
            help="Format of the input; default: our JSONL.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            autocompletion=plugin_names("format"),
            help="Format of the output; default: our JSONL.",
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            help="corpus, queries, qrels, run, examples …; default: told by name or content; all "
            "parts of a folder."
        ),
    ] = None,
    split: Annotated[str, typer.Option(help="The split in file names.")] = "test",
    gains: Annotated[
        str | None,
        typer.Option(help="esci, wands: gains of the labels, as in `score`."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="A field that the target cannot hold is an error.")
    ] = False,
    on_error: OnErrorFlag = OnError.fail,
    rejects: RejectsFile = None,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="File to write, also .gz, or a folder for parts; - is stdout."
        ),
    ] = "-",
    quiet: Quiet = False,
) -> None:
    """Convert other tools' formats to records, and records to other tools' formats.

    `structkit plugins` lists the formats. A table's name says if it is JSONL, .csv, .tsv, .parquet.
    """
    from structkit.commands.convert import Conversion
    from structkit.formats.interchange import Options
    from structkit.records.rejects import Rejects

    conversion = Conversion.of(source, target, Options(split, gains), strict=strict)
    jobs = conversion.jobs(files or [], output, part)
    conversion.run(jobs, Rejects(on_error, rejects))
