"""The one way to the trees of texts: whatever the parser's plugin takes, and its flags."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from structkit.errors import UserError
from structkit.registry import load
from structkit.structure.trees.tree import Tree

# what a parser may want to know of each text
PER_TEXT = ("keys", "languages", "sentences")


@dataclass(frozen=True)
class Parser:
    """A parser with its flags, checked: `fields`, what to read, and `trees`, the trees of texts."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)  # given where they are taken

    def __post_init__(self) -> None:
        takes = self.takes
        for option in self.options:
            if option not in takes:
                raise UserError(
                    f"the parser {self.name} takes no {_flag(option)}", "leave it out", status=2
                )
        for option, parameter in takes.items():
            given = option in self.options or option in PER_TEXT or option == "texts"
            if parameter.default is inspect.Parameter.empty and not given:
                raise UserError(
                    f"the parser {self.name} needs {_flag(option)}", "name it", status=2
                )

    @property
    def _plugin(self) -> Any:
        return load("parser", self.name)

    @property
    def takes(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of the plugin's function."""
        return inspect.signature(self._plugin.trees).parameters

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields with the text, the first that a record has."""
        return tuple(getattr(self._plugin, "FIELDS", ("text",)))

    @property
    def factor(self) -> str:
        """How its long nodes are cut, unless the user says otherwise."""
        return str(getattr(self._plugin, "FACTOR", "right"))

    def trees(self, texts: Sequence[str], **per_text: Sequence[Any]) -> list[Tree | UserError]:
        """A tree for each text in order, or the error that stands in its place.

        `per_text` are lists as long as the texts: `keys`, `languages`, `sentences`. A parser that
        raises is asked again, text by text, so that one text does not cost the others their trees.
        """
        takes = self.takes
        wanted = {name: values for name, values in per_text.items() if name in takes}
        options = {name: value for name, value in self.defaults.items() if name in takes}
        function = partial(self._plugin.trees, **options, **self.options)
        found, error = _all(partial(function, list(texts), **wanted))
        if error is None:
            assert len(found) == len(texts), f"{self.name}: {len(found)} trees, {len(texts)} texts"
        elif len(texts) == 1:
            found = [error]
        else:
            for at in range(len(found), len(texts)):
                rest = {name: values[at : at + 1] for name, values in wanted.items()}
                alone, error = _all(partial(function, [texts[at]], **rest))
                found.append(error or alone[0])
        return found


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def _all(
    trees: Callable[[], Iterable[Tree | UserError]],
) -> tuple[list[Tree | UserError], UserError | None]:
    """The trees up to an error that one text may be to blame for, and the error."""
    found: list[Tree | UserError] = []
    try:
        found.extend(trees())
    except UserError as error:
        if error.status == 2 or error.file:
            raise
        return found, error.with_traceback(None)
    return found, None
