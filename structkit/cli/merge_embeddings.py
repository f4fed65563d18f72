"""Join the embeddings of shards."""

from __future__ import annotations

from typing import Annotated

import typer

from structkit.cli.options import (
    Quiet,
)

RECORDS = {
    "writes": "`file`, `embeddings`",
}
EXAMPLES = """
structkit encode -m models/seal variants.jsonl --shard 0/2 -o part0.npy
structkit encode -m models/seal variants.jsonl --shard 1/2 -o part1.npy
structkit merge-embeddings part0.npy part1.npy -o all.npy
"""


def merge_embeddings(
    files: Annotated[list[str], typer.Argument(help="NAME.npy files of one model.")],
    output: Annotated[str, typer.Option("--output", "-o", help="NAME.npy to write.")] = ...,  # type: ignore[assignment]
    quiet: Quiet = False,
) -> None:
    """Join NAME.npy files of one model in the order given; no id may be in two of them."""
    from structkit.commands.merge_embeddings import merge_embeddings as command
    from structkit.paths import keep_apart
    from structkit.records.output import write_summary

    keep_apart([("-o", output)], files)
    write_summary(command(files, output))
