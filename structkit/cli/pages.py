"""What a --help page shows: record fields, flags in groups, examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typer.core import TyperGroup

from structkit.cli.completion import brief

OPTIONS = "Options"  # the group of flags that name no other
LONG = 12  # flags of a page that has groups


class Texts:
    """Leaves a flag's texts as they are, for settings to read.

    typer has pydantic read them, whose import alone takes as long as a small command.
    """

    def coerce(self, value: Any, **place: Any) -> Any:
        """The text, or texts."""
        return value


class Page:
    """The --help of a command: what records it reads and writes, then its flags, common ones first.

    A flag names its group as `rich_help_panel`; groups come in the order of the flags. Short pages
    have none.
    """

    records: Mapping[str, str] = {}
    """The fields of records: what is done with them, and their names."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The arguments and flags, whose values are the texts that were given."""
        inherited: Any = super()
        parameters: list[Any] = inherited.get_params(ctx)
        for each in parameters:
            each.get_runtime_param = Texts
        return parameters

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """The flags that complete what was typed."""
        inherited: Any = super()
        items = inherited.shell_complete(ctx, incomplete)
        for item in items:
            item.help = brief(item.help or "")
        return items

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections of the page."""
        command: Any = self
        for heading, rows in sections(command, ctx).items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)
        if isinstance(self, TyperGroup):
            command.format_commands(ctx, formatter)


def sections(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """The headings of a command's page, with names and what they mean: arguments, flags …"""
    found: dict[str, list[tuple[str, str]]] = {"Arguments": []}
    found["Records"] = list(command.records.items())
    found[OPTIONS] = []
    parameters = command.get_params(ctx)
    grouped = len(parameters) >= LONG
    for parameter in parameters:
        if row := parameter.get_help_record(ctx):
            argument = parameter.param_type_name == "argument"
            group = (grouped and getattr(parameter, "rich_help_panel", None)) or OPTIONS
            found.setdefault("Arguments" if argument else group, []).append(row)
    return found


def shown(examples: str) -> str:
    """The end of a command's help: lines that are not wrapped."""
    lines = examples.strip().splitlines()
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
