"""A command as a function: its settings as keywords, dicts in place of files, records out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import MISSING, Field, fields
from functools import partial
from typing import Any

from structkit.api.given import Given, Held, texts_as
from structkit.command import Command, command_of
from structkit.errors import Python, UserError, spelled_for, unknown
from structkit.records.jsonl import Record, Records
from structkit.records.rejects import accepted, raising
from structkit.records.stream import Options
from structkit.settings import is_several, made, types_of

PYTHON = Python()


def function_of(name: str) -> Callable[..., Any]:
    """The function `name` of the Python interface, made of what the command declares.

    Its settings are checked when it is called, its records when they are asked for.
    """
    command = command_of(name.replace("_", "-"))
    declared = parameters(command)

    def function(*given: Any, **values: Any) -> Any:
        with spelled_for(PYTHON):
            try:
                bound = inspect.Signature(declared).bind(*given, **values).arguments
            except TypeError as error:
                known = [each.name for each in declared]
                for each in values:
                    if each not in known:
                        raise unknown(f"parameter of {name}", each, known) from None
                remedy = f"see help(structkit.{name})"
                raise UserError(f"{name}: {error}", remedy, status=2) from None
            return _called(command, bound)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "structkit"
    work = inspect.cleandoc(command.work.__doc__ or "").partition("\n\n>>>")[0]
    function.__doc__ = f"{work}\n\nThe keywords are the flags of `structkit {command.name} --help`."
    function.__signature__ = inspect.Signature(declared)  # type: ignore[attr-defined]
    return function


def is_stage(command: Command) -> bool:
    """Whether a command turns records into records."""
    return any(issubclass(kind, Options) for kind in command.also)


def parameters(command: Command) -> list[inspect.Parameter]:
    """Of a function: records or arguments by position, settings by keyword."""
    listed = []
    if is_stage(command):
        listed.append(inspect.Parameter("records", inspect.Parameter.POSITIONAL_ONLY))
    each: Field[Any]
    for each in sorted(fields(command.settings), key=lambda each: "argument" not in each.metadata):
        either, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        kind = either if "argument" in each.metadata else keyword
        default = inspect.Parameter.empty if each.default is MISSING else each.default
        hint = types_of(command.settings)[each.name]
        listed.append(inspect.Parameter(each.name, kind, default=default, annotation=hint))
    return listed


def _called(command: Command, given: dict[str, Any]) -> Any:
    """What the command returns; a generator keeps the files that it reads until it ends."""
    records = given.pop("records", None)
    with ExitStack() as stack:
        held = stack.enter_context(Held())
        for each in fields(command.settings):
            if each.metadata.get("reads") and given.get(each.name) is not None:
                several = is_several(types_of(command.settings)[each.name])
                files = held.files if several else held.file
                given[each.name] = files(given[each.name], each.name)
        settings = made(command.settings, given)
        if records is not None:
            if command.texts:
                records = texts_as(command.texts(settings), records, "records")
            work = partial(command.work, settings=settings)
            result = accepted(work, Records(Given(records)), raising)
        else:
            result = command.work(settings)
        if isinstance(result, Iterator):
            return _each(result, stack.pop_all())
        return result


def _each(records: Iterator[Record], held: ExitStack) -> Iterator[Record]:
    with held:
        while True:
            with spelled_for(PYTHON):  # not while the caller has the record
                try:
                    record = next(records)
                except StopIteration:
                    return
            yield record
