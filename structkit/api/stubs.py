"""What type checkers and editors see of `import structkit`: `python -m structkit.api.stubs`.

It writes structkit/__init__.pyi: a function for each command, and one for each of a group.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import structkit
from structkit import registry
from structkit.api.functions import is_stage, kinds, parameters
from structkit.api.models import OF_MODEL, OF_TEXTS, of_encode
from structkit.command import COMMANDS, Command, Group, command_of
from structkit.settings import Setting, settings_of

PATH = Path(structkit.__file__).with_suffix(".pyi")
HEAD = """\
# made by `python -m structkit.api.stubs`
# ruff: noqa
# fmt: off
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from structkit.errors import UserError as UserError

class _Frame(Protocol):  # of pandas or polars
    @property
    def columns(self) -> Any: ...

Record: TypeAlias = dict[str, Any]
Rows: TypeAlias = Iterable[Mapping[str, Any]] | _Frame
Path: TypeAlias = str | os.PathLike[str]
Files: TypeAlias = Path | Sequence[Path] | Rows | Mapping[str, Path | Rows]

__version__: str
"""
# names of files or folders that hold no records, or are not read as such
PLACES = {"cache", "init_embeddings", "model", "output", "reuse", "validate"}
LOADED = """
class LoadedModel:
    def encode(
        self,
{texts}    ) -> NDArray[np.float32]: ...

def load(
{model}) -> LoadedModel: ...
"""


def stub() -> str:
    """The text of the stub."""
    names = f"__all__ = {sorted(structkit.__all__)}\n"
    return "".join([HEAD, names, _loaded(), *_functions()])


def _loaded() -> str:
    """A model that is loaded once, with some of the settings of `encode`."""
    encode = command_of("encode")
    texts, model = (_lines(encode, of_encode(*names)) for names in (OF_TEXTS, OF_MODEL))
    return LOADED.format(texts="".join(f"    {each}" for each in texts), model="".join(model))


def _functions() -> Iterator[str]:
    foreign = {each.name for each in registry.plugins() if each.pack != "structkit_plugins"}
    for each in sorted(COMMANDS):
        declared, name = command_of(each), each.replace("-", "_")
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
    listed = "".join(_lines(command, parameters(command), first))
    start = "\n" if listed else ""
    result = inspect.signature(command.work).return_annotation
    return f"\ndef {name}({start}{listed}) -> {result}: ...\n"


def _lines(command: Command, given: list[inspect.Parameter], first: str = "") -> list[str]:
    """Parameters of a command, each a line."""
    settings = {each.name: each for kind in kinds(command) for each in settings_of(kind)}
    lines = [first] * bool(first)
    if given and given[0].kind is inspect.Parameter.POSITIONAL_ONLY:
        records, *given = given
        lines.append(_records(command, records))
    lines += ["/"] * bool(lines)
    keywords = False
    for each in given:
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not keywords:
            keywords = True
            lines.append("*")
        lines.append(_parameter(each, settings[each.name]))
    return [f"    {line},\n" for line in lines]


def _records(command: Command, records: inspect.Parameter) -> str:
    kind = "Rows" if is_stage(command) else "Files"
    if command.texts:
        kind += " | Iterable[str]"
    if records.default is inspect.Parameter.empty:
        return f"records: {kind}"
    return f"records: {kind}{' | None' * (records.default is None)} = {records.default!r}"


def _parameter(given: inspect.Parameter, each: Setting) -> str:
    if each.name in PLACES or each.writes:
        shown = "Path"
    elif each.reads:
        shown = "Files" if each.several else "Path | Rows"
    elif each.choices and not each.several:
        shown = f"Literal[{', '.join(map(repr, each.choices))}]"
    else:
        # lists are taken too; the module's annotations are texts
        shown = re.sub(r"tuple\[(.+?), \.\.\.\]", r"list[\1] | tuple[\1, ...]", each.written)
    # None where the type has none: the start model decides
    if (type(None) in get_args(each.hint) or each.default is None) and "None" not in shown:
        shown += " | None"
    default = "" if given.default is inspect.Parameter.empty else f" = {given.default!r}"
    return f"{each.name}: {shown}{default}"


if __name__ == "__main__":
    PATH.write_text(stub(), "utf-8")
