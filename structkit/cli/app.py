"""The program's commands, each imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_install_completion_arguments

from structkit.cli.numbers import CONTEXT, checked
from structkit.cli.pages import PageGroup, shown

# in the order of a pipeline, as `structkit --help` lists them
COMMANDS = (
    *("ask", "collect", "mask-entities", "html-variants", "parse-trees", "pair", "train", "encode"),
    *("merge-embeddings", "search", "fuse", "rerank", "score", "show", "plot", "convert", "select"),
    *("plugins", "doctor"),
)


class Commands(PageGroup):
    """One file a command: `mask-entities` is the function or group `mask_entities` of its file."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return self.missing(ctx, cmd_name, "command")
        stem = cmd_name.replace("-", "_")
        module = import_module(f"structkit.cli.{stem}")
        made = getattr(module, stem)
        if isinstance(made, typer.Typer):
            command: Any = typer.main.get_group(made)
            command.name = cmd_name
        else:
            command = checked(cmd_name, made)
        command.records = module.RECORDS
        command.epilog = shown(module.EXAMPLES)
        return command

    def rows(self, ctx: Any) -> list[tuple[str, str]]:
        return [(name, summary(name)) for name in COMMANDS]


def summary(name: str) -> str:
    """The first line of a command's file, read without importing it."""
    with Path(__file__).with_name(f"{name.replace('-', '_')}.py").open(encoding="utf-8") as file:
        return file.readline().strip().strip('"')


def version(wanted: bool) -> None:
    """Print the versions of what results depend on, one a line, and end."""
    if wanted:
        from structkit.commands.doctor import versions

        told = versions().items()
        typer.echo("\n".join(f"{name} {found or 'is not installed'}" for name, found in told))
        raise typer.Exit


def _every(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=version, help="Show versions and exit."),
    ] = False,
) -> None:
    """What all commands share."""


app: Any = typer.main.get_group(
    typer.Typer(
        cls=Commands,
        callback=_every,
        help="Mask, parse, train, encode and search structured text, from JSONL to JSONL.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,  # plain help starts twice as fast
        context_settings=CONTEXT,
    )
)
app.params.extend(get_install_completion_arguments())
