"""What type checkers and editors see of `import structkit`: `python -m structkit.api.stubs`.

It writes structkit/__init__.pyi: a function for each command, and one of `train` for each method.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterable
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import structkit
from structkit import registry
from structkit.api.functions import is_stage
from structkit.command import Command, command_of
from structkit.learning.training.settings import RunOptions
from structkit.settings import choices_of, is_several, types_of

PATH = Path(structkit.__file__).with_suffix(".pyi")
HEAD = """\
# made by `python -m structkit.api.stubs`
# ruff: noqa
# fmt: off
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, overload

from structkit.errors import UserError as UserError
"""
TYPES = """
Rows: TypeAlias = Iterable[Mapping[str, Any]]
Path: TypeAlias = str | os.PathLike[str]
Files: TypeAlias = Path | Sequence[Path] | Rows

__version__: str
DECLARED: tuple[str, ...]
"""


def stub() -> str:
    """The text of the stub."""
    others = [name for name in structkit.__all__ if name not in (*structkit.DECLARED, "train")]
    imports = [
        f"from structkit.api.{name} import {name} as {name}\n"
        for name in others
        if name != "UserError"
    ]
    functions = [_function(command_of(name.replace("_", "-"))) for name in structkit.DECLARED]
    methods = [each.name for each in registry.plugins() if _is_ours(each)]
    names = f"__all__ = {structkit.__all__}\n"
    return "".join([HEAD, *imports, TYPES, names, *functions, *map(_train, methods)])


def _is_ours(plugin: Any) -> bool:
    return bool(plugin.kind == "method" and plugin.pack == "structkit_plugins")


def _function(command: Command) -> str:
    positional = []
    if is_stage(command):
        default = next(iter(inspect.signature(command.work).parameters.values())).default
        given = "Rows" if default is inspect.Parameter.empty else "Rows | None = None"
        positional += [f"records: {given}", "/"]
    every = fields(command.settings)
    arguments = [each for each in every if "argument" in each.metadata]
    keywords = [each for each in every if "argument" not in each.metadata]
    lines = [*positional, *(_parameter(command.settings, each) for each in arguments)]
    lines += ["*"] * bool(keywords)
    lines += [_parameter(command.settings, each) for each in keywords]
    result = str(inspect.signature(command.work).return_annotation)
    name = command.work.__name__
    return _definition(name, lines, result.replace("Record", "dict[str, Any]"))


def _train(name: str) -> str:
    method = registry.load("method", name)
    idle = method.idle_options()
    lines = [f'method: Literal["{name}"]', "records: Files = ()", "/", "*"]
    for kind in (method, RunOptions):
        shown = (each for each in fields(kind) if each.name not in idle)
        lines += (_parameter(kind, each) for each in shown)
    return "\n@overload" + _definition("train", lines, "dict[str, Any]")


def _definition(name: str, lines: Iterable[str], result: str) -> str:
    given = "".join(f"    {line},\n" for line in lines)
    start = "\n" if given else ""
    return f"\ndef {name}({start}{given}) -> {result}: ...\n"


def _parameter(kind: type, each: Field[Any]) -> str:
    hint = types_of(kind)[each.name]
    none = type(None) in get_args(hint)
    if each.metadata.get("reads"):
        shown = ("Files" if is_several(hint) else "Path | Rows") + " | None" * none
    elif each.metadata.get("writes"):
        shown = "Path" + " | None" * none
    elif (choices := choices_of(kind, each)) and not is_several(hint):
        shown = f"Literal[{', '.join(map(repr, choices))}]" + " | None" * none
    else:
        shown = spelled(hint)
    if each.default is None and not none:  # the start model decides
        shown += " | None"
    default = "" if each.default is MISSING else f" = {each.default!r}"
    return f"{each.name}: {shown}{default}"


def spelled(hint: Any) -> str:
    """A type as a function takes it.

    >>> spelled(tuple[str, ...] | None)
    'list[str] | tuple[str, ...] | None'
    """
    if get_origin(hint) in (Union, types.UnionType):
        return " | ".join(map(spelled, get_args(hint)))
    if get_origin(hint) is tuple:
        item = spelled(get_args(hint)[0])
        return f"list[{item}] | tuple[{item}, ...]"
    if get_origin(hint) is Literal:
        return f"Literal[{', '.join(map(repr, get_args(hint)))}]"
    return "None" if hint is type(None) else getattr(hint, "__name__", "Any")


if __name__ == "__main__":
    PATH.write_text(stub(), "utf-8")
