"""A record-wise command as a function: its settings as keywords, dicts in, dicts out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Concatenate, ParamSpec, TypeVar

from structkit.api.arguments import check, in_python
from structkit.api.given import Given, Rows, texts_as
from structkit.records.jsonl import Record, Records
from structkit.records.rejects import Command, Rejected, accepted

P = ParamSpec("P")
Settings = TypeVar("Settings")


def stage(
    name: str,
    settings: Callable[P, Settings],
    command: Callable[[Any, Settings], Iterator[Record]],
    field: Callable[[Settings], str] | None = None,
) -> Callable[Concatenate[Rows, P], Iterator[Record]]:
    """The function `name` over dicts: it makes settings of its keywords, and runs the command.

    Settings are checked when it is called, records when they are asked for. Strings are records
    with the `field` of the settings.
    """
    parameters = inspect.signature(settings).parameters

    def function(records: Rows, /, *args: P.args, **keywords: P.kwargs) -> Iterator[Record]:
        with in_python(parameters):
            check(name, {**dict(zip(parameters, args, strict=False)), **keywords}, parameters)
            made = settings(*args, **keywords)
            if field:
                records = texts_as(field(made), records, "records")
        return _run(records, lambda some: command(some, made), parameters)

    function.__name__ = function.__qualname__ = name
    program = f"structkit {name.replace('_', '-')}"
    # its example gives settings as the command does
    told = inspect.cleandoc(command.__doc__ or "").partition("\n\n>>>")[0]
    function.__doc__ = f"{told}\n\nThe keywords are the flags of `{program} --help`."
    records = inspect.Parameter(
        "records", inspect.Parameter.POSITIONAL_ONLY, annotation="Iterable[Mapping[str, Any]]"
    )
    function.__signature__ = inspect.Signature([records, *parameters.values()])  # type: ignore[attr-defined]
    return function


def _run(records: Rows, command: Command, parameters: Iterable[str]) -> Iterator[Record]:
    with in_python(parameters):
        yield from made_of(records, command)


def made_of(records: Rows, command: Command) -> Iterator[Record]:
    """What a command makes of dicts; an error has the number of the dict."""
    return accepted(command, Records(Given(records)), _fail)


def _fail(rejected: Rejected) -> None:
    raise rejected.error
