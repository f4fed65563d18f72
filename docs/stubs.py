"""Stub of `import structkit` for type checkers and editors: `python -m docs.stubs [--check]`.

It writes structkit/__init__.pyi: a function for each command, and for each command of a group. With
`--check` it fails if that file is not what it would write.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import structkit
from structkit import registry
from structkit.api.functions import is_stage, parameters
from structkit.api.models import MODEL_SETTINGS, TEXT_SETTINGS, encode_parameters
from structkit.command import COMMANDS, Command, Group, command_of

PATH = Path(structkit.__file__).with_suffix(".pyi")
HEAD = """\
# made by `python -m docs.stubs`
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
Scores: TypeAlias = Mapping[str, Mapping[str, float]]  # as in pytrec_eval
Files: TypeAlias = Path | Sequence[Path] | Rows | Scores | Mapping[str, Path | Rows | Scores]

__version__: str
"""
LOADED = """
class LoadedModel:
    def encode(
        self,
{texts}    ) -> NDArray[np.float32]: ...
    def similarity(
        self, queries: NDArray[np.float32], documents: NDArray[np.float32]
    ) -> NDArray[np.float32]: ...

def load(
{model}) -> LoadedModel: ...
"""


def stub() -> str:
    """Return the text of the stub."""
    names = f"__all__ = {sorted(structkit.__all__)}\n"
    return "".join([HEAD, names, _loaded(), *_functions()])


def _loaded() -> str:
    """Return the stub of a loaded model, with some of the settings of `encode`."""
    texts, model = (_lines(encode_parameters(*names)) for names in (TEXT_SETTINGS, MODEL_SETTINGS))
    return LOADED.format(texts="".join(f"    {each}" for each in texts), model="".join(model))


def _functions() -> Iterator[str]:
    foreign = {each.name for each in registry.plugins() if not each.is_ours}
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
    """Return the stub of a command, one parameter a line; `first` comes before the others."""
    listed = "".join(_lines(parameters(command), first))
    start = "\n" if listed else ""
    of_work = inspect.signature(command.work).return_annotation
    result = "Iterator[Record]" if is_stage(command) else of_work
    return f"\ndef {name}({start}{listed}) -> {result}: ...\n"


def _lines(given: list[inspect.Parameter], first: str = "") -> list[str]:
    """Return the parameters of a command, one per line."""
    lines = [first] * bool(first)
    if given and given[0].kind is inspect.Parameter.POSITIONAL_ONLY:
        records, *given = given
        lines.append(_written(records))
    lines += ["/"] * bool(lines)
    keywords = False
    for each in given:
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not keywords:
            keywords = True
            lines.append("*")
        lines.append(_written(each))
    return [f"    {line},\n" for line in lines]


def _written(given: inspect.Parameter) -> str:
    default = "" if given.default is inspect.Parameter.empty else f" = {given.default!r}"
    return f"{given.name}: {given.annotation}{default}"


if __name__ == "__main__":
    if "--check" not in sys.argv:
        PATH.write_text(stub(), "utf-8")
    elif PATH.read_text("utf-8") != stub():
        sys.exit("structkit/__init__.pyi is not what the settings give; run python -m docs.stubs")
