"""Tagged, untagged and masked variants of HTML."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from structkit.cli.options import (
    Files,
    Hide,
    OnError,
    OnErrorFlag,
    OutputFile,
    Quiet,
    Ray,
    RecordTimeout,
    RejectsFile,
    Seed,
    ShardFlag,
    SourceFormat,
    Workers,
)
from structkit.cli.streams import stream

RECORDS = {
    "reads": "`html`, or `content`, `positive`; with --from: `markdown`, `text`; `negatives`",
    "adds": (
        "`tagged`, `untagged`, `masked`; with `negatives`: `negatives_tagged`, "
        "`negatives_untagged`, `negatives_masked`"
    ),
}
EXAMPLES = """
structkit html-variants pages.jsonl -o variants.jsonl
structkit html-variants --mask-ratio 0.2 --workers 2 < pages.jsonl | head -n 1
"""


def html_variants(
    files: Files = None,
    mask_ratio: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of elements to mask; at least one.")
    ] = 0.1,
    mask: Annotated[
        Hide,
        typer.Option(help="Remove an element's tags (SEAL's paper), or its content too."),
    ] = Hide.tag,
    tags: Annotated[
        str,
        typer.Option(
            metavar="TAG,…",
            help="Tags to keep; may name sets: structure (headings, paragraphs, lists, tables, "
            "sections), phrases (a, em, span …), all.",
        ),
    ] = "structure",
    keep_attributes: Annotated[
        bool, typer.Option("--keep-attributes", help="Keep the attributes of these tags.")
    ] = False,
    field: Annotated[
        str | None,
        typer.Option(
            help="Field with the document; default: `html` (with --from: `markdown`, `text`), "
            "otherwise `content` or `positive`."
        ),
    ] = None,
    source: Annotated[
        SourceFormat, typer.Option("--from", help="Format of the documents.")
    ] = SourceFormat.html,
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
    """Make variants of HTML documents: adds `tagged`, `untagged`, `masked`.

    A record with `negatives` also gets `negatives_tagged`, `negatives_untagged` and
    `negatives_masked`.
    """
    from structkit.commands.html_variants import Variation
    from structkit.commands.html_variants import html_variants as command

    through = stream(
        files,
        output,
        on_error=on_error,
        rejects=rejects,
        shard=shard,
        workers=workers,
        record_timeout=record_timeout,
        ray=ray,
    )
    variation = Variation(
        mask_ratio=mask_ratio,
        mask=mask,
        tags=tags,
        keep_attributes=keep_attributes,
        field=field,
        source=source,
        seed=seed,
    )
    through.run(partial(command, variation=variation), label="html-variants")
