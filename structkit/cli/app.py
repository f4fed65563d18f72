"""The program's commands, each imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from structkit.cli.numbers import CONTEXT, checked
from structkit.cli.pages import shown
from structkit.errors import unknown

# in the order of a pipeline, as `structkit --help` lists them
COMMANDS = (
    *("ask", "collect", "mask-entities", "html-variants", "parse-trees", "pair", "train", "encode"),
    *("merge-embeddings", "search", "fuse", "rerank", "score", "plot", "convert", "select"),
    "plugins",
)


class Commands(TyperGroup):
    """One file a command: `mask-entities` is the function or group `mask_entities` of its file."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            raise unknown("command", cmd_name, COMMANDS)
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

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(name)) for name in COMMANDS])


def summary(name: str) -> str:
    """The first line of a command's file, read without importing it."""
    with Path(__file__).with_name(f"{name.replace('-', '_')}.py").open(encoding="utf-8") as file:
        return file.readline().strip().strip('"')


app = typer.main.get_group(
    typer.Typer(
        cls=Commands,
        help="Mask, parse, train, encode and search structured text, from JSONL to JSONL.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,  # plain help starts twice as fast
        context_settings=CONTEXT,
    )
)
