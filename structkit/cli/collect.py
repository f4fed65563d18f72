"""Turn files, folders and archives into records."""

from __future__ import annotations

from typing import Annotated

import typer

from structkit.cli.options import (
    Hidden,
    MaxFileBytes,
    NoIgnore,
    OnError,
    OnErrorFlag,
    OutputFile,
    Quiet,
    RejectsFile,
    Unit,
    Workers,
)

RECORDS = {
    "reads": "with --records: `code`, `html` or `text`, and `path`",
    "writes": (
        "`id`, `path`, `language`, `lines`, `hash`; a function or chunk: `code`, `scope`, "
        "`name`, `names`, `docstring`; a page, section or sentence: `title`, `headings`, "
        "`html`, `text`, `xpath`; with --records: `doc_id`"
    ),
}
EXAMPLES = """
structkit collect src docs -o corpus.jsonl
structkit collect src --unit function | structkit pair --on-error skip | structkit mask-entities
structkit collect package.zip --unit sentence --on-error fail
structkit collect --records functions.jsonl --chunk-chars 300
"""


def collect(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH",
            help="Folders, files, patterns, archives (.zip .whl .jar .tar.gz .warc …), "
            "compressed files (.gz .bz2 .xz); - reads paths from stdin, separated by newlines or "
            "NUL.",
        ),
    ],
    records: Annotated[
        bool,
        typer.Option(
            "--records",
            help="PATHs are JSONL, each record a file: its text in `code`, `html` or `text`, its "
            "name in `path`. Its parts get its other fields, and its id as `doc_id`.",
        ),
    ] = False,
    unit: Annotated[
        Unit | None,
        typer.Option(
            help="What each record holds; default: a chunk of code, a page of HTML or Markdown, a "
            "sentence of other text."
        ),
    ] = None,
    chunk_chars: Annotated[
        int, typer.Option(min=1, help="Most characters in a chunk, white space not counted.")
    ] = 1_500,
    max_file_bytes: MaxFileBytes = 2_000_000,
    hidden: Hidden = False,
    no_ignore: NoIgnore = False,
    archives: Annotated[
        bool,
        typer.Option(
            "--archives",
            help="Include archives and compressed files in folders.",
            rich_help_panel="Files",
        ),
    ] = False,
    generated: Annotated[
        bool,
        typer.Option(
            "--generated", help="Include generated and minified code.", rich_help_panel="Files"
        ),
    ] = False,
    shard: Annotated[
        str | None,
        typer.Option("--shard", metavar="I/N", help="Keep part I of N of the files, I from 0."),
    ] = None,
    workers: Workers = 1,
    record_timeout: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=1e6,
            metavar="SECONDS",
            help="Leave out a file whose parsing takes more CPU time, ends or fills its process.",
        ),
    ] = 5.0,
    on_error: OnErrorFlag = OnError.skip,
    rejects: RejectsFile = None,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Turn files into records: functions, chunks, pages, sections, sentences or whole files.

    Each has an `id` (path#unit), `path`, `language`, `lines` and the `hash` of its text. They are
    sorted by path. Binary files, links, archives and compressed files in folders are left out,
    and counted at the end.
    """
    from structkit.commands.collect import Collection, write

    collection = Collection.of(
        paths,
        records=records,
        unit=unit,
        chunk_chars=chunk_chars,
        max_file_bytes=max_file_bytes,
        hidden=hidden,
        no_ignore=no_ignore,
        archives=archives,
        generated=generated,
        shard=shard,
        record_timeout=record_timeout,
        workers=workers,
        outputs=[path for path in (output, rejects) if path and path != "-"],
    )
    write(collection, output, on_error, rejects)
