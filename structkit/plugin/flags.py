"""A plugin with the flags that the user gave for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from structkit.errors import UserError, flag
from structkit.plugin.language import Language
from structkit.plugin.parser import Parser
from structkit.plugin.ranker import Ranker

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
    for given in flags:
        if given not in known:
            raise UserError(f"{plugin} takes no {flag(given)}", "leave it out", status=status)
    for missing, each in known.items():
        if missing not in flags and each.default is MISSING and each.default_factory is MISSING:
            remedy = each.metadata.get("remedy", "name it")
            raise UserError(f"{plugin} needs {flag(missing)}", remedy, status=status)
    return kind(**flags)
