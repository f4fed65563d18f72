"""A record-wise command as a function: its settings as keywords, dicts in, dicts out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Concatenate, ParamSpec, TypeVar

from structkit.api.arguments import check, in_python
from structkit.api.given import Given, Rows
from structkit.records.jsonl import Record, Records
from structkit.records.rejects import Rejected, accepted

P = ParamSpec("P")
Settings = TypeVar("Settings")


def stage(
    name: str,
    settings: Callable[P, Settings],
    command: Callable[[Any, Settings], Iterator[Record]],
    then: Callable[[Settings], Callable[[Any], Iterator[Record]] | None] = lambda settings: None,
) -> Callable[Concatenate[Rows, P], Iterator[Record]]:
    """The function `name` over dicts: it makes settings of its keywords, and runs the command.

    Settings are checked when it is called, records when they are asked for. `then` gives what
    remembers records and comes after the command.
    """
    parameters = inspect.signature(settings).parameters

    def function(records: Rows, /, *args: P.args, **keywords: P.kwargs) -> Iterator[Record]:
        with in_python():
            check(name, {**dict(zip(parameters, args, strict=False)), **keywords}, parameters)
            made = settings(*args, **keywords)
        return _run(Given(records), command, made, then(made))

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


def _run(
    lines: Given,
    command: Callable[[Any, Any], Iterator[Record]],
    settings: object,
    then: Callable[[Any], Iterator[Record]] | None,
) -> Iterator[Record]:
    with in_python():
        made = accepted(lambda records: command(records, settings), Records(lines), _fail)
        yield from then(made) if then else made


def _fail(rejected: Rejected) -> None:
    raise rejected.error
