"""Commands: what a command's file declares, and the list of commands.

Tests: tests/api/test_api.py.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from structkit.errors import spell_settings, unknown

# in the order of a pipeline, as `structkit --help` lists them
COMMANDS = (
    "ask",
    "collect",
    "mask-entities",
    "html-variants",
    "parse-trees",
    "pair",
    "train",
    "encode",
    "search",
    "fuse",
    "rerank",
    "score",
    "plot",
    "convert",
    "select",
    "mcp",
    "plugins",
)


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """Declarations of a help page beyond flags: fields of records, and examples."""

    reads: str = ""
    adds: str = ""
    writes: str = ""
    examples: str = ""

    @property
    def records(self) -> Mapping[str, str]:
        """Fields of records by their use: read, added, written."""
        rows = {"reads": self.reads, "adds": self.adds, "writes": self.writes}
        return {what: spell_settings(names) for what, names in rows.items() if names}


@dataclass(frozen=True)
class Command(Declaration):
    """Declaration of a command, from which the command line and Python are made.

    `work` is the function that Python calls with settings. The docstring of `settings` is the help,
    unless `about` is given. `also` are settings that several commands share; the command line calls
    `main` with one instance of each class. Settings in `without` have no flag.

    If a command turns records into records, `work` is a function of one record and settings, or of
    a list of `batch` records; or `stage` makes a stage from settings. `main` is then optional. If
    `numbered`, a record without an id gets its number. The file in the setting `instead` replaces
    the records. If Python may pass texts instead of records, `texts` returns the field that they
    fill for given settings.
    """

    work: Callable[..., Any]
    settings: type
    main: Callable[..., None] | None = None
    also: tuple[type, ...] = ()
    without: Collection[str] = ()
    batch: int = 0
    stage: Callable[[Any], Any] | None = None
    numbered: bool = True
    instead: str = ""
    texts: Callable[[Any], str] | None = None
    name: str = ""
    about: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.work.__name__.replace("_", "-"))

    @property
    def help(self) -> str:
        """Text of its help page."""
        return self.about or inspect.cleandoc(self.settings.__doc__ or "")


@dataclass(frozen=True, kw_only=True)
class Group(Declaration):
    """Commands below a command, as `plot trees` is."""

    heading: ClassVar[str] = "Commands"
    name: str
    help: str
    commands: Mapping[str, Command] = field(default_factory=dict)

    def names(self) -> Sequence[str]:
        """Return the names of its commands."""
        return list(self.commands)

    def command(self, name: str) -> Command | Group:
        """Return one of its commands. Errors: an unknown name."""
        if name not in self.commands:
            raise unknown(f"command of {self.name}", name, self.commands)
        return self.commands[name]

    def summary(self, name: str) -> str:
        """Return the purpose of a command in one line."""
        return self.commands[name].help.partition("\n")[0]


@dataclass(frozen=True, kw_only=True)
class Program(Group):
    """All commands: `mask-entities` is the `COMMAND` of structkit/commands/mask_entities.py."""

    name: str = "structkit"
    help: str = "Search code, pages and records, train retrievers, and score them, in JSON Lines."

    def names(self) -> Sequence[str]:
        return COMMANDS

    def command(self, name: str) -> Command | Group:
        if name not in COMMANDS:
            raise unknown("command", name, COMMANDS)
        declared: Command | Group = command_of(name)
        return declared

    def summary(self, name: str) -> str:
        """Return the first line of a command's file without importing it."""
        folder = Path(__file__).with_name("commands") / name.replace("-", "_")
        path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
        with path.open(encoding="utf-8") as file:
            return file.readline().strip().strip('"')


@cache
def command_of(name: str) -> Any:
    """Import a command's file and return its declaration."""
    return import_module(f"structkit.commands.{name.replace('-', '_')}").COMMAND
