"""Parse texts into binary trees, in brackets."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from structkit.cli.completion import plugin_names
from structkit.cli.options import (
    Factor,
    Files,
    FinalPunct,
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
    "reads": "`text`; ast: `code`, `language`; dom: `html` or `content`; brackets: `tree`",
    "adds": "`tree`; of several fields: `FIELD_tree`",
}
EXAMPLES = """
structkit parse-trees sentences.jsonl -o trees.jsonl
structkit parse-trees --parser ast functions.jsonl | head -n 1
"""


def parse_trees(
    files: Files = None,
    parser: Annotated[
        str,
        typer.Option(
            autocompletion=plugin_names("parser"),
            help="Name of a parser; `structkit plugins` lists them.",
        ),
    ] = "builtin",
    field: Annotated[
        list[str] | None,
        typer.Option(
            help="Field with the text; several give FIELD_tree each; default: `text`, `code` "
            "for ast, `html` or `content` for dom, `tree` for brackets."
        ),
    ] = None,
    factor: Annotated[
        Factor | None,
        typer.Option(help="How to split long nodes; default: right; balanced for ast and dom."),
    ] = None,
    final_punct: Annotated[
        FinalPunct,
        typer.Option(help="Keep the final punctuation where it is, or attach it to the root."),
    ] = FinalPunct.keep,
    binarize: Annotated[
        bool, typer.Option("--binarize/--no-binarize", help="Make every node a pair or a word.")
    ] = True,
    tokenized: Annotated[
        bool,
        typer.Option(
            "--tokenized", help="The text is words separated by spaces; of a `tree`, its words."
        ),
    ] = False,
    url: Annotated[
        str | None, typer.Option(help="corenlp: the server (default http://localhost:9000).")
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(min=0.001, max=86400, help="corenlp: seconds for 50 texts (default 60)."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="self-strae: the model folder.")
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            autocompletion=plugin_names("language"),
            help="ast: language of all records; default: their `language`.",
        ),
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
    """Parse texts: adds `tree`, one binary tree in Penn Treebank brackets."""
    from structkit.commands.parse_trees import Parsing
    from structkit.commands.parse_trees import parse_trees as command

    through = stream(
        files,
        output,
        on_error=on_error,
        rejects=rejects,
        shard=shard,
        workers=workers,
        record_timeout=record_timeout,
        ray=ray,
        beside=[model],
    )
    parsing = Parsing(
        parser=parser,
        field=tuple(field or ()),
        factor=factor,
        final_punct=final_punct,
        binarize=binarize,
        tokenized=tokenized,
        url=url,
        timeout=timeout,
        model=model,
        language=language,
        seed=seed,
    )
    through.run(partial(command, parsing=parsing), label="parse-trees")
