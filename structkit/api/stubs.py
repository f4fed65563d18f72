"""What type checkers and editors see of `import structkit`: `python -m structkit.api.stubs`.

It writes structkit/__init__.pyi: a function for each command, and one for each of a group.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, get_args

import structkit
from structkit import registry
from structkit.api.functions import is_stage, kinds, parameters
from structkit.settings import Command, Group, choices_of, command_of, is_several, types_of

PATH = Path(structkit.__file__).with_suffix(".pyi")
HEAD = """\
# made by `python -m structkit.api.stubs`
# ruff: noqa
# fmt: off
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias, overload

from structkit.errors import UserError as UserError

Record: TypeAlias = dict[str, Any]
Rows: TypeAlias = Iterable[Mapping[str, Any]]
Path: TypeAlias = str | os.PathLike[str]
Files: TypeAlias = Path | list[str] | tuple[Path, ...] | Rows

__version__: str
"""


def stub() -> str:
    """The text of the stub."""
    return "".join([HEAD, f"__all__ = {sorted(structkit.__all__)}\n", *_functions()])


def _functions() -> Iterator[str]:
    foreign = {each.name for each in registry.plugins() if each.pack != "structkit_plugins"}
    for name in sorted(structkit.__all__):
        if name == "UserError":
            continue
        declared = command_of(name.replace("_", "-"))
        if isinstance(declared, Command):
            yield _function(name, declared)
            continue
        assert isinstance(declared, Group)
        for below in declared.names():
            if name != "train" or below not in foreign:
                command = declared.command(below)
                assert isinstance(command, Command)
                yield "\n@overload" + _function(name, command, f'command: Literal["{below}"]')


def _function(name: str, command: Command, first: str = "") -> str:
    """A function of a command, a parameter a line; `first` is one more before the others."""
    settings = {each.name: (kind, each) for kind in kinds(command) for each in fields(kind)}
    given = parameters(command)
    lines = [first] * bool(first)
    if given and given[0].kind is inspect.Parameter.POSITIONAL_ONLY:
        lines.append(_records(command, given.pop(0)))
    lines += ["/"] * bool(lines)
    keywords = False
    for each in given:
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not keywords:
            keywords = True
            lines.append("*")
        lines.append(_parameter(each, *settings[each.name]))
    listed = "".join(f"    {line},\n" for line in lines)
    start = "\n" if listed else ""
    result = inspect.signature(command.work).return_annotation
    return f"\ndef {name}({start}{listed}) -> {result}: ...\n"


def _records(command: Command, records: inspect.Parameter) -> str:
    kind = "Rows" if is_stage(command) else "Files"
    if command.texts:
        kind += " | Iterable[str]"
    if records.default is inspect.Parameter.empty:
        return f"records: {kind}"
    return f"records: {kind}{' | None' * (records.default is None)} = {records.default!r}"


def _parameter(given: inspect.Parameter, kind: type, each: Field[Any]) -> str:
    hint = types_of(kind)[each.name]
    if each.metadata.get("reads"):
        shown = "Files" if is_several(hint) else "Path | Rows"
    elif each.metadata.get("writes"):
        shown = "Path"
    elif (choices := choices_of(kind, each)) and not is_several(hint):
        shown = f"Literal[{', '.join(map(repr, choices))}]"
    else:
        # lists are taken too; the module's annotations are texts
        shown = re.sub(r"tuple\[(.+?), \.\.\.\]", r"list[\1] | tuple[\1, ...]", str(each.type))
    # None where the type has none: the start model decides
    if (type(None) in get_args(hint) or each.default is None) and "None" not in shown:
        shown += " | None"
    default = "" if given.default is inspect.Parameter.empty else f" = {given.default!r}"
    return f"{each.name}: {shown}{default}"


if __name__ == "__main__":
    PATH.write_text(stub(), "utf-8")
