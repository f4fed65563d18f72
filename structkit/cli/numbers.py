"""Checks of every flag: numbers are finite and fit in 64 bits, texts are not empty."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand

from structkit.cli.pages import Page, PageGroup

CONTEXT = {"help_option_names": ["-h", "--help"]}


class Checked(Page, TyperCommand):
    """A command that refuses unusable values before any work is done."""

    def invoke(self, ctx: Any) -> Any:
        parameter: Any
        for parameter in self.params:
            given = ctx.params.get(parameter.name)
            for value in given if isinstance(given, list | tuple) else (given,):
                problem = _problem(value)
                if value == "" != parameter.default and parameter.param_type_name == "option":
                    problem = "it is empty."
                if problem:
                    raise typer.BadParameter(problem, ctx=ctx, param=parameter)
        return super().invoke(ctx)


def _problem(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a finite number."
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return f"{value} is beyond 64 bits."
    return ""


class CheckedTyper(typer.Typer):
    """An app whose commands are `Checked`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=PageGroup, rich_markup_mode=None, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """A command, as typer makes it."""
        return super().command(name, **{"cls": Checked, **options})


def checked(name: str, function: Callable[..., None], help: str | None = None, **more: Any) -> Any:
    """A function as a command, its parameters the flags; `more` goes into its context."""
    alone = CheckedTyper(add_completion=False)
    alone.command(name, help=help, context_settings={**CONTEXT, **more})(function)
    return typer.main.get_command(alone)
