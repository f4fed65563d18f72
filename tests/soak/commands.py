"""The commands of the app, found from the app itself."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import typer

from structkit.cli.main import app


def commands(group: Any = None, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All commands of the app, each as its words."""
    group = group or app
    if not hasattr(group, "list_commands"):
        yield words
        return
    context = typer.Context(group)
    for name in group.list_commands(context):
        yield from commands(group.get_command(context, name), (*words, name))


@cache
def found(command: tuple[str, ...]) -> Any:
    """The command of these words, as typer made it."""
    group: Any = app
    for word in command:
        group = group.get_command(typer.Context(group), word)
    return group
