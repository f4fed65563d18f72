"""Values of flags that are taken as they are: those that have their flag's type already."""

from __future__ import annotations

from typing import Any


class Values:
    """Takes texts and defaults of a flag as they are; any other value is converted by typer.

    typer has pydantic convert all of them, whose import alone takes as long as a small command.
    """

    def __init__(self, flag: Any) -> None:
        self.flag = flag

    def coerce(self, value: Any, **place: Any) -> Any:
        """The value in its flag's type."""
        kind = self.flag.type_descriptor.annotation
        if type(value) is kind:
            return value
        several = self.flag.multiple or self.flag.nargs == -1
        if value is None:
            return () if several else None
        if several and kind == list[str] and all(type(each) is str for each in value):
            return value
        return type(self.flag).get_runtime_param(self.flag).coerce(value, **place)
