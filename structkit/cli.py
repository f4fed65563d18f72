"""The command line: flags and help, in pipeline order; each body is import, call, write."""

from __future__ import annotations

import signal
import sys
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, NoReturn

import typer

from structkit.errors import UserError

app = typer.Typer(
    help="Mask, parse, train, encode and search structured text, from JSONL to JSONL.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help starts twice as fast
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class OnError(StrEnum):
    """What to do with a record that cannot be used."""

    fail = "fail"
    skip = "skip"


class Strategy(StrEnum):
    """What to mask."""

    entity = "entity"
    span = "span"


Files = Annotated[
    list[str] | None, typer.Argument(help="JSONL files, .gz too; stdin when none or -.")
]
OutputFile = Annotated[
    str, typer.Option("--output", "-o", help="File to write, .gz too; - is stdout.")
]
OnErrorFlag = Annotated[OnError, typer.Option("--on-error", help="Stop, or leave the record out.")]
RejectsFile = Annotated[
    str | None, typer.Option("--rejects", help="With --on-error skip: file for what is left out.")
]
Seed = Annotated[int, typer.Option(help="All randomness is keyed by it and the record's id.")]
ShardFlag = Annotated[
    str | None,
    typer.Option("--shard", metavar="I/N", help="Keep every N-th line, from the I-th."),
]
Workers = Annotated[int, typer.Option(min=1, help="Processes; the output stays the same.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]


def stream(options: dict[str, Any]) -> Any:
    """The record-wise flags of a command as a `Stream`."""
    from structkit.jsonl import Shard
    from structkit.stream import Stream

    shard = Shard.parse(options["shard"]) if options.get("shard") else None
    return Stream(
        files=options["files"] or [],
        output=options["output"],
        on_error=options["on_error"],
        rejects=options["rejects"],
        shard=shard,
        workers=options.get("workers", 1),
        quiet=options["quiet"],
    )


@app.command("mask-entities")
def mask_entities(
    files: Files = None,
    language: Annotated[
        str | None, typer.Option(help="Language of all records; default: the field `language`.")
    ] = None,
    field: Annotated[
        str | None, typer.Option(help="Field to mask; default: `positive`, else `code`.")
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
    seed: Seed = 0,
    shard: ShardFlag = None,
    workers: Workers = 1,
    on_error: OnErrorFlag = OnError.fail,
    rejects: RejectsFile = None,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Replace entities (names in code) by sentinels: adds `masked`, `target`, `entities`."""
    flags = locals()
    from structkit.commands.mask_entities import mask_entities as command
    from structkit.registry import load

    if language:
        load("language", language)
    stream(flags).run(
        partial(
            command,
            language=language,
            field=field,
            mask_ratio=mask_ratio,
            max_entities=max_entities,
            strategy=strategy,
            seed=seed,
        ),
        label="mask-entities",
    )


@app.command()
def pair(
    files: Files = None,
    query: Annotated[str, typer.Option(help="Field with the query.")] = "docstring",
    positive: Annotated[
        str, typer.Option(help="Field with the document that answers it.")
    ] = "code",
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
    on_error: OnErrorFlag = OnError.fail,
    rejects: RejectsFile = None,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Make training examples: adds `query` and `positive`, the docstring cut out of the code."""
    flags = locals()
    from structkit.commands.pair import pair as command
    from structkit.commands.pair import whole_input

    then = whole_input(dedupe=dedupe, splits=split, shard=shard, seed=seed)
    stream(flags).run(
        partial(command, query=query, positive=positive, seed=seed), then, label="pair"
    )


@app.command()
def plugins(output: OutputFile = "-") -> None:
    """List the languages, parsers and methods that are installed."""
    from structkit.commands.plugins import plugins as command
    from structkit.table import write

    write(command(), output, columns=("kind", "name", "summary"))


def main() -> NoReturn:
    """Run the program, and turn what the user can mend into one line and an exit status."""
    signal.signal(signal.SIGTERM, _terminate)
    sys.exit(_run())


def _run() -> int:
    try:
        app(standalone_mode=False, prog_name="structkit")
        return 0
    except UserError as error:
        return _fail(str(error), error.status)
    except UsageError as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "structkit"
        return _fail(f"{error.format_message().rstrip('.')}; see {path} --help", 2)
    except typer.Exit as exit:
        return exit.exit_code
    except BrokenPipeError:
        return 0  # whoever read the output has seen enough
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except MemoryError:
        return _fail("out of memory; try smaller batches or fewer --workers", 1)


# typer exports no base class of its usage errors
UsageError: Any = typer.BadParameter.__mro__[1]


def _fail(message: str, status: int) -> int:
    from structkit.progress import say

    say(message)
    return status


def _terminate(number: int, frame: object) -> NoReturn:
    # leave through the same doors as every other error, so that no partial file stays
    raise SystemExit(128 + number)
