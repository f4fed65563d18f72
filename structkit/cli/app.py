"""The program's commands, each imported when it is asked for."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_install_completion_arguments

from structkit.cli.completion import brief
from structkit.cli.flags import CONTEXT, command
from structkit.cli.pages import Page, shown
from structkit.command import Command, Group, Program


class Item(NamedTuple):
    """A word that completes what was typed, as shells are told it."""

    value: str
    help: str
    type: str = "plain"


class Commands(Page, TyperGroup):
    """The commands of a group, each made when it is asked for: `structkit plot`, `plot trees`."""

    def __init__(self, group: Group | None = None, **options: Any) -> None:
        self.group = group or Program()
        plain = {"rich_markup_mode": None, "context_settings": CONTEXT}
        about = {"name": self.group.name, "help": self.group.help}
        super().__init__(**{**plain, **about, **options})
        self.no_args_is_help, self.heading = True, self.group.heading

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.group.names())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.group.names() and getattr(ctx, "resilient_parsing", False):
            return None  # a shell completes after an unknown name
        declared = self.group.command(cmd_name)
        made: Any = Commands(declared) if isinstance(declared, Group) else opened(declared)
        made.records = declared.records
        made.epilog = shown(declared.examples) if declared.examples else None
        return made

    def rows(self, ctx: Any) -> list[tuple[str, str]]:
        """The commands and what they are for."""
        return [(name, self.group.summary(name)) for name in self.group.names()]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands."""
        with formatter.section(self.heading):
            formatter.write_dl(self.rows(ctx))

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """The commands or flags that complete what was typed."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        rows = [row for row in self.rows(ctx) if row[0].startswith(incomplete)]
        return [Item(name, brief(summary)) for name, summary in rows]


def opened(declared: Command) -> Any:
    """A command as typer has it."""
    kinds = (declared.settings, *declared.also)
    return command(declared.name, declared.help, kinds, declared.main, without=declared.without)


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
