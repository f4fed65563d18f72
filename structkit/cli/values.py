"""Values of flags that need no check: defaults, texts, choices as they are spelled, numbers."""

from __future__ import annotations

import re
from enum import EnumType
from typing import Any

NUMBER = re.compile("0|[1-9][0-9]{0,17}")


class Values:
    """Takes such values of a flag itself, and has typer check all others.

    typer has pydantic check all of them, whose import alone takes as long as a small command.
    """

    def __init__(self, flag: Any) -> None:
        self.flag = flag

    def coerce(self, value: Any, **place: Any) -> Any:
        """The value in its flag's type."""
        kind: Any = self.flag.type_descriptor.annotation
        several = self.flag.multiple or self.flag.nargs == -1
        if value is None:
            return () if several else None
        if type(value) is kind:
            return value
        if isinstance(kind, EnumType) and value in {*map(str, kind)}:
            return kind(value)
        if kind is int and NUMBER.fullmatch(value) and self._within(int(value)):
            return int(value)
        if several and kind == list[str] and all(type(each) is str for each in value):
            return value
        return type(self.flag).get_runtime_param(self.flag).coerce(value, **place)

    def _within(self, number: int) -> bool:
        low, high = self.flag.min, self.flag.max
        return (low is None or low <= number) and (high is None or number <= high)
