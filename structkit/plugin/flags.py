"""A plugin with the flags that the user gave for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from structkit.errors import UserError
from structkit.plugin.language import Language
from structkit.plugin.parser import Parser
from structkit.plugin.ranker import Ranker
from structkit.settings import flag_of

Configurable = TypeVar("Configurable", bound=Language | Parser | Ranker)


def takes(kind: type[Configurable], flag: str) -> bool:
    """Whether plugins of a class take a flag."""
    return flag in {each.name for each in fields(kind)}


def configured(
    kind: type[Configurable],
    name: str,
    flags: Mapping[str, Any],
    *,
    status: int = 2,
) -> Configurable:
    """The plugin with these flags; one that it does not take, or that is missing, raises."""
    known = {each.name: each for each in fields(kind)}
    plugin = f"the {kind.__name__.lower()} {name}"
    for flag in flags:
        if flag not in known:
            raise UserError(f"{plugin} takes no {flag_of(flag)}", "leave it out", status=status)
    for flag, each in known.items():
        if flag not in flags and each.default is MISSING and each.default_factory is MISSING:
            remedy = each.metadata.get("remedy", "name it")
            raise UserError(f"{plugin} needs {flag_of(flag)}", remedy, status=status)
    return kind(**flags)
