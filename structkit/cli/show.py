"""Show a record to a person: entities, elements, trees, hits."""

from __future__ import annotations

from typing import Annotated

import typer

from structkit.cli.options import (
    Files,
    OutputFile,
    Quiet,
)
from structkit.cli.streams import apart

RECORDS = {
    "reads": (
        "`masked` and `entities`; `tagged` and `masked`; `tree`, `FIELD_tree`; `query_id`, "
        "`doc_id`, `score`, `rank`; any others by name"
    ),
}
EXAMPLES = """
structkit mask-entities functions.jsonl | structkit show
structkit html-variants pages.jsonl | structkit show -n 2
structkit parse-trees --parser ast functions.jsonl | structkit show
"""


def show(
    files: Files = None,
    id: Annotated[str | None, typer.Option(help="Show the records with this id.")] = None,
    number: Annotated[
        int, typer.Option("--number", "-n", min=1, help="Show this many records.")
    ] = 1,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Show a record as its fields ask for: code with its entities, HTML as a tree with its masked
    elements, parse trees, a hit with its place and its lines.

    A terminal gets colors, a pipe plain text.
    """
    apart(output, *(files or ["-"]))
    from itertools import islice

    from structkit.commands.show import show as command
    from structkit.progress import colored, columns
    from structkit.records.jsonl import Records
    from structkit.records.output import Output

    records = Records.read(files or [])
    there = output == "-"
    text = command(
        islice((each for each in records if id is None or each["id"] == id), number),
        width=columns() if there else None,
        colors=there and colored(),
        place=records.place,
    )
    with Output(output) as written:
        written.write(text.encode())
