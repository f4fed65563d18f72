"""Checks of every flag: numbers are finite and fit in 64 bits, texts are not empty."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

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


def _limit(most: int) -> int:
    from structkit.records.limits import limit_bytes

    limit_bytes(most)
    return most


MaxRecordBytes = Annotated[
    int, typer.Option(min=1, max=2**40, callback=_limit, help="Refuse records with more bytes.")
]
READ_NO_RECORDS = ("ask", "doctor", "merge-embeddings", "plugins")


def limited(function: Callable[..., None]) -> Callable[..., None]:
    """A command's function with the flag --max-record-bytes, which holds for all that it reads."""

    @wraps(function)
    def body(*, max_record_bytes: int, **values: Any) -> None:
        function(**values)

    name, signature = "max_record_bytes", inspect.signature(function, eval_str=True)
    flag = inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=64_000_000, annotation=MaxRecordBytes
    )
    parameters = [*signature.parameters.values(), flag]
    body.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    body.__annotations__ = {**function.__annotations__, name: MaxRecordBytes}
    return body


class CheckedTyper(typer.Typer):
    """An app whose commands are `Checked`, and `limited` if they read records."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=PageGroup, rich_markup_mode=None, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """A command, as typer makes it."""
        made = super().command(name, **{"cls": Checked, **options})
        return made if name in READ_NO_RECORDS else lambda function: made(limited(function))


def checked(name: str, function: Callable[..., None], help: str | None = None, **more: Any) -> Any:
    """A function as a command, its parameters the flags; `more` goes into its context."""
    alone = CheckedTyper(add_completion=False)
    alone.command(name, help=help, context_settings={**CONTEXT, **more})(function)
    return typer.main.get_command(alone)
