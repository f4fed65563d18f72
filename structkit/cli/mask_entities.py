"""Replace entities (names, nouns) by sentinels."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from structkit.cli.completion import plugin_names
from structkit.cli.options import (
    Files,
    OnError,
    OnErrorFlag,
    OutputFile,
    Profile,
    Quiet,
    Ray,
    RecordTimeout,
    RejectsFile,
    Seed,
    ShardFlag,
    Strategy,
    Tagger,
    Workers,
)
from structkit.cli.streams import stream

RECORDS = {
    "reads": "`code` and `language`; `title` and `description`; `html`; or `positive`",
    "adds": "`masked`, `target`, `entities`; what is not given: `language`",
}
EXAMPLES = """
structkit mask-entities functions.jsonl -o masked.jsonl
structkit mask-entities products.jsonl --on-error skip --rejects rejects.jsonl | head -n 1
"""


def mask_entities(
    files: Files = None,
    language: Annotated[
        str | None,
        typer.Option(
            autocompletion=plugin_names("language"),
            help="Language of all records, or an alias such as js or C++; default: the field "
            "`language`; records with `html`, or with `title` and `description`, need none.",
        ),
    ] = None,
    field: Annotated[
        str | None,
        typer.Option(
            help="Field to mask; default: `positive`, otherwise the language's: `code`, "
            "`description` (products), `html` or `content`."
        ),
    ] = None,
    mask_ratio: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Share of distinct entities to mask (default 1.0), or of tokens for spans (0.15).",
        ),
    ] = None,
    max_entities: Annotated[
        int,
        typer.Option(
            min=1,
            max=99,
            help="Most distinct entities to mask; T5 has sentinels for 99 and the closing one.",
        ),
    ] = 99,
    strategy: Annotated[
        Strategy, typer.Option(help="Entities (SANTA), or T5's random spans for the ablation.")
    ] = Strategy.entity,
    profile: Annotated[
        Profile, typer.Option(help="What the paper says, or what SANTA's released code masks.")
    ] = Profile.paper,
    types: Annotated[bool, typer.Option("--types", help="Code: mask names of types too.")] = False,
    tagger: Annotated[
        Tagger | None,
        typer.Option(
            help="Products: rules (default; the same everywhere, needs no data), or nltk (the "
            "paper's, needs NLTK's data; default of --profile official)."
        ),
    ] = None,
    keep_plain: Annotated[
        bool,
        typer.Option(
            "--keep-plain",
            help="Keep texts without entities as they are: to align, with nothing to predict.",
        ),
    ] = False,
    stats: Annotated[
        bool, typer.Option("--stats", help="Print counts by language on stderr at the end.")
    ] = False,
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
    """Replace entities by sentinels, for a model to predict.

    Entities are names in code, nouns that a product's title and description share, and terms that
    query, title and body of an HTML document share.
    """
    from structkit.commands.mask_entities import Masking, statistics
    from structkit.commands.mask_entities import mask_entities as command

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
    masking = Masking(
        language=language,
        field=field,
        mask_ratio=mask_ratio,
        max_entities=max_entities,
        strategy=strategy,
        profile=profile,
        types=types,
        tagger=tagger,
        seed=seed,
        keep_plain=keep_plain,
    )
    with statistics(show=stats and not quiet) as tally:
        through.run(partial(command, masking=masking), tally=tally, label="mask-entities")
