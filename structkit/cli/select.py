"""Choose records, join them, and change their fields."""

from __future__ import annotations

from typing import Annotated

import typer

from structkit.cli.options import (
    Files,
    OnError,
    OnErrorFlag,
    OutputFile,
    Quiet,
    RejectsFile,
    Seed,
    ShardFlag,
)
from structkit.cli.streams import stream

RECORDS = {
    "reads": "any; `id` for --in, --not-in, --join, --sample",
    "writes": "those that are left; with --join, --rename, --set: new ones",
}
EXAMPLES = """
structkit select functions.jsonl --where language=python --sample 2 --fields id,language
structkit select pages.jsonl --head 3 -o few.jsonl
structkit select pages.jsonl --not-in few.jsonl | head -n 1
"""


def select(
    files: Files = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=VALUE",
            help="Choose records whose field is VALUE (FIELD!=VALUE: is not, FIELD~REGEX: matches, "
            "FIELD!~REGEX: does not match); all must hold. In a list one item suffices; a.b is "
            "the field b of the object a.",
        ),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option("--in", metavar="FILE", help="Choose records whose id occurs in this file."),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--not-in", metavar="FILE", help="Choose records whose id does not occur in it."
        ),
    ] = None,
    head: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only the first N, then stop reading.")
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Only N, drawn by seed and id: the same ones in any order of the input.",
        ),
    ] = None,
    join: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Add the fields that this file's record with the same id has and ours lacks.",
        ),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="--in, --not-in, --join: compare this field (default: id); OURS=THEIRS if it has "
            "another name in the file.",
        ),
    ] = None,
    strip: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD=REGEX", help="Cut what matches out of the field's text."),
    ] = None,
    fields: Annotated[
        str | None, typer.Option(metavar="FIELD,…", help="Keep these fields only, in this order.")
    ] = None,
    rename: Annotated[
        list[str] | None, typer.Option(metavar="OLD=NEW", help="Give a field another name.")
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=TEXT", help="Give a field this text; FIELD:=JSON: this JSON value."
        ),
    ] = None,
    seed: Seed = 0,
    shard: ShardFlag = None,
    on_error: OnErrorFlag = OnError.fail,
    rejects: RejectsFile = None,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Choose records, join them with others, and choose, rename and set their fields.

    The flags are applied in the order of this list. Records without an id get none.
    """
    from structkit.commands.select import Selection
    from structkit.records.fields import Changes, Condition

    through = stream(
        files,
        output,
        on_error=on_error,
        rejects=rejects,
        shard=shard,
        beside=[*(within or ()), *(without or ()), *(join or ())],
        numbered=False,
    )
    selection = Selection(
        [Condition.parse(text) for text in where or ()],
        head=head,
        sample=sample,
        seed=seed,
        changes=Changes.parse(strip or (), fields, rename or (), set or ()),
        sharded=shard is not None,
    ).beside(within or (), without or (), join or (), on)
    through.run(selection.chosen, selection.changed, label="select")
