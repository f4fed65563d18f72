"""What a --help page shows: record fields, flags in groups, examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typer.core import TyperGroup

from structkit.errors import unknown

OPTIONS = "Options"  # the group of flags that name no other
LONG = 12  # flags of a page that has groups


class Page:
    """The --help of a command: what records it reads and writes, then its flags, common ones first.

    A flag names its group as `rich_help_panel`; groups come in the order of the flags. Short pages
    have none.
    """

    records: Mapping[str, str] = {}
    """The fields of records: what is done with them, and their names."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections of the page."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Records": []}
        sections["Records"] = list(self.records.items())
        sections[OPTIONS] = []
        command: Any = self
        parameters = command.get_params(ctx)
        grouped = len(parameters) >= LONG
        for parameter in parameters:
            if row := parameter.get_help_record(ctx):
                argument = parameter.param_type_name == "argument"
                group = (grouped and getattr(parameter, "rich_help_panel", None)) or OPTIONS
                sections.setdefault("Arguments" if argument else group, []).append(row)
        for heading, rows in sections.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)
        if isinstance(self, TyperGroup):
            command.format_commands(ctx, formatter)


class PageGroup(Page, TyperGroup):
    """A group of commands with such a page."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name; an unknown one raises."""
        command = super().get_command(ctx, cmd_name)
        if command is None:
            raise unknown(f"command of {self.name}", cmd_name, self.list_commands(ctx))
        return command


def shown(examples: str) -> str:
    """The end of a command's help: lines that are not wrapped."""
    lines = examples.strip().splitlines()
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
