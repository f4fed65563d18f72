"""Commands and their settings: flags of a command, a method, a plugin, each said once.

A class of settings is a frozen dataclass with keyword fields made by `setting`. The command line
makes flags of them, Python keywords, help and manual their rows; errors name them by `flag`.
"""

from __future__ import annotations

import inspect
import os
import sys
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import structkit
from structkit.errors import UserError, flag, spoken, unknown

# the headings of a long help, in its order; a command may have others, which come before the last
GROUPS: dict[str, str] = {
    "common": "Options",
    "method": "Method",
    "model": "Model",
    "texts": "Texts",
    "loss": "Loss",
    "schedule": "Schedule and validation",
    "speed": "Memory and speed",
    "run": "Run",
}
FILE = {"argument", "reads", "writes"}  # whose name may be any bytes
BITS = 2**63  # an integer beyond it fits into no file of numbers


def setting(
    default: Any,
    help: str = "",
    source: str = "",
    choices: tuple[str, ...] | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
    usual: Any = MISSING,
    group: str | None = None,
    short: str = "",
    argument: bool = False,
    metavar: str = "",
    complete: str = "",
    reads: bool | str = False,
    writes: bool = False,
    parse: Callable[[str], str] | None = None,
    requires: str | tuple[str, ...] = (),
    excludes: str | tuple[str, ...] = (),
) -> Any:
    """A field of settings: its default (`...`: it must be given), its help and source.

    `low` and `high` bound a number; `choices` are those of its type, a Literal, or these. `group`
    is the heading under which the help lists it; a field that overrides an inherited default keeps
    its help, choices, bounds and group, where it says no others. With `usual`, None means the start
    model's own value, and `usual` if it has none: a value, or a function of the settings before it
    whose docstring the help shows. `short` is a second flag, such as `-o`; an `argument` is no
    flag. `metavar` stands for the value in the help, `parse` reads the flag's text first.
    `complete` is the kind of plugin whose names a shell offers.
    `reads` and `writes` are files: what is written is none that is read; a text is the
    value that is no file, and "walks" says that what is written may be in a folder that is read. A
    setting that is given `requires` one of others, and `excludes` all of its others.
    """
    metadata: dict[str, Any] = {
        "help": help,
        "source": source,
        "choices": choices,
        "bounds": (low, high) if (low, high) != (None, None) else None,
        "group": group,
        "short": short,
        "argument": argument,
        "metavar": metavar,
        "complete": complete,
        "reads": reads,
        "writes": writes,
        "parse": parse,
        "requires": (requires,) if isinstance(requires, str) and requires else requires,
        "excludes": (excludes,) if isinstance(excludes, str) and excludes else excludes,
    }
    metadata = {name: value for name, value in metadata.items() if value}
    if usual is not MISSING:
        metadata["usual"] = usual
    return field(metadata=metadata) if default is ... else field(default=default, metadata=metadata)


def seed_setting() -> Any:
    """The seed of a command."""
    return setting(0, "All randomness is keyed by it and the record's id.", group="run")


def quiet_setting() -> Any:
    """Whether a command speaks."""
    return setting(False, "Nothing on stderr but errors.", short="-q")


def offline_setting() -> Any:
    """Whether a model must be here: its name is not looked up on the hub."""
    return setting(False, "Never use the network.", group="run")


def file_setting(help: str, default: Any = None, *, metavar: str = "FILE", **more: Any) -> Any:
    """A file that a command reads; several, where the default is a tuple."""
    return setting(default, help, metavar=metavar, reads=True, **more)


@cache
def types_of(kind: type) -> dict[str, Any]:
    """The type of each setting of a class, by name."""
    return get_type_hints(kind)


def alternatives(hint: Any) -> tuple[Any, ...]:
    """The types that a hint allows, without None."""
    union = get_origin(hint) in (Union, types.UnionType)
    return tuple(each for each in (get_args(hint) if union else (hint,)) if each is not type(None))


def is_several(hint: Any) -> bool:
    """Whether a setting is a list of values."""
    return any(get_origin(each) in (tuple, list) for each in alternatives(hint))


def inherited(kind: type, name: str, what: str) -> Any:
    """What the metadata of a setting has, in a class or in the nearest one that it extends."""
    for each in kind.__mro__:
        found = vars(each).get("__dataclass_fields__", {}).get(name)
        if found is not None and what in found.metadata:
            return found.metadata[what]
    return None


def choices_of(kind: type, each: Field[Any]) -> tuple[str, ...] | None:
    """What a setting may be, where that is a list of names."""
    for hint in alternatives(types_of(kind)[each.name]):
        if get_origin(hint) is Literal:
            return get_args(hint)
    choices: tuple[str, ...] | None = inherited(kind, each.name, "choices")
    return choices


def bounds(kind: type, name: str) -> tuple[float | None, float | None]:
    """The lowest and the highest value of a setting, None where there is no such bound."""
    low, high = inherited(kind, name, "bounds") or (None, None)
    return low, high


def group_of(kind: type, name: str) -> str:
    """The group of a setting: a key of `GROUPS`, or a heading of its own."""
    return str(inherited(kind, name, "group") or getattr(kind, "own_group", "common"))


def spelled(each: Field[Any], value: object = None) -> str:
    """A setting in a message, with its value if that is to blame: `--mask-ratio 2`, `FILE`."""
    argument = each.metadata.get("metavar", "") if "argument" in each.metadata else ""
    return flag(each.name, value, argument)


Made = TypeVar("Made")


def make(kind: type[Made], values: Mapping[str, Any]) -> Made:
    """Settings of a class with these values, checked: wrong usage raises before any work is done.

    Errors: `UserError` with status 2 for a value of another type, out of its bounds or choices, for
    a missing one, and for settings that do not go together.
    """
    every = fields(kind)  # type: ignore[arg-type]
    for each in every:
        if each.name not in values and each.default is each.default_factory is MISSING:
            raise UserError(f"{spelled(each)} is missing", "add it", status=2)
    converted = {name: convert(kind, name, value) for name, value in values.items()}
    for each in every:
        _check_values(kind, each, converted.get(each.name))
    settings = kind(**converted)
    for each in every:
        _check_others(settings, each)
    return settings


def convert(kind: type, name: str, value: Any) -> Any:
    """A value in the type of its setting: a path as text, a list as a tuple.

    Errors: `UserError` with status 2 for a value of another type.
    """
    hint = types_of(kind)[name]
    if value is None and alternatives(hint) != (hint,):
        return None
    if not is_several(hint):
        return _convert(name, hint, value)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise UserError(f"{flag(name)} is {value!r}, not a list", f"give [{value!r}]", status=2)
    item = get_args(next(each for each in alternatives(hint) if is_several(each)))[0]
    return tuple(_convert(name, item, each) for each in value)


def _convert(name: str, hint: Any, value: Any) -> Any:
    """One value of a setting in its type."""
    value = os.fspath(value) if isinstance(value, os.PathLike) else value
    kinds = [str if get_origin(each) is Literal else each for each in alternatives(hint)]
    classes = [each for each in kinds if isinstance(each, type)]
    if isinstance(value, bool):
        fits = bool in classes
    else:
        fits = isinstance(value, (*classes, int) if float in classes else tuple(classes))
    if fits or len(classes) < len(kinds):
        return value
    names = " or ".join(each.__name__ for each in classes)
    raise UserError(f"{flag(name)} is {value!r}, not {names}", "give one", status=2)


def check(settings: Any) -> None:
    """Raise for a setting out of its choices or bounds, or without what it requires."""
    for each in fields(settings):
        _check_values(type(settings), each, getattr(settings, each.name))
        _check_others(settings, each)


def _check_values(kind: type, each: Field[Any], value: Any) -> None:
    for one in value if isinstance(value, tuple) else (value,):
        if one is not None:
            _check_value(kind, each, one)


def _check_value(kind: type, each: Field[Any], value: Any) -> None:
    """Raise for one value of a setting that is out of its choices or bounds."""
    if isinstance(value, str):
        # a model folder records it as JSON
        if value != value.encode(errors="ignore").decode() and FILE.isdisjoint(each.metadata):
            problem = f"{spelled(each, value)} is not UTF-8"
            raise UserError(problem, "give it another name", status=2)
        choices = choices_of(kind, each)
        if choices and value not in choices:
            raise unknown(spelled(each), value, choices)
        if value == "" and "" not in (each.default, each.metadata.get("usual")):
            raise UserError(f"{spelled(each)} is empty", "give it a value", status=2)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        low, high = bounds(kind, each.name)
        most = BITS - 1 if isinstance(value, int) else sys.float_info.max
        # NaN is in no range
        if not (-most if low is None else low) <= value <= (most if high is None else high):
            problem = f"{spelled(each, value)} is not {range_of(low, high, type(value))}"
            raise UserError(problem, "give such a number", status=2)


def range_of(low: float | None, high: float | None, kind: type = int) -> str:
    """Bounds in words.

    >>> range_of(1, None), range_of(0.0, 1.0), range_of(None, None)
    ('1 or more', 'in 0 … 1', 'in 64 bits')
    """
    if low is None and high is None:
        return "in 64 bits" if kind is int else "a finite number"
    if high is None:
        return f"{spoken(low or 0)} or more"
    return f"{spoken(high)} or less" if low is None else f"in {spoken(low)} … {spoken(high)}"


def is_given(each: Field[Any], value: Any) -> bool:
    """Whether a setting has another value than its default."""
    return value is not None and value != () and value != each.default


def flags_given(settings: Any, kind: type) -> list[str]:
    """The settings of a class, or of one that it extends, that are given: as messages name them."""
    values = ((each, getattr(settings, each.name)) for each in fields(kind))
    return [
        flag(each.name, False if value is False else None)
        for each, value in values
        if is_given(each, value)
    ]


def _check_others(settings: Any, each: Field[Any]) -> None:
    """Raise if a setting is given without what it requires, or with what it excludes."""
    if not is_given(each, getattr(settings, each.name)):
        return
    known = {other.name: other for other in fields(settings)}

    def among(names: Iterable[str]) -> list[str]:
        return [name for name in names if is_given(known[name], getattr(settings, name))]

    needed = each.metadata.get("requires", ())
    if needed and not among(needed):
        others = " or ".join(map(flag, needed))
        add = "it" if len(needed) == 1 else "one"
        raise UserError(f"{spelled(each)} needs {others}", f"add {add}", status=2)
    if against := among(each.metadata.get("excludes", ())):
        problem = f"{spelled(each)} and {spelled(known[against[0]])} exclude each other"
        raise UserError(problem, "leave one out", status=2)


def parse(kind: type, each: Field[Any], text: str) -> Any:
    """The value that a flag's text stands for, in the setting's type if it is such a number."""
    text = each.metadata.get("parse", str)(text)
    hints = alternatives(types_of(kind)[each.name])
    if is_several(hints[0]):
        hints = get_args(hints[0])[:1]
    for number in (int, float):
        if number in hints:
            with suppress(ValueError):  # `make` refuses what is no number
                return number(text)
    return text


def flag_of(name: str) -> str:
    """The flag of a setting.

    >>> flag_of("max_steps")
    '--max-steps'
    """
    return "--" + name.replace("_", "-")


def help_of(kind: type, each: Field[Any]) -> str:
    """A setting's help with the source of its default, as the help shows it."""
    metadata = each.metadata
    text = str(inherited(kind, each.name, "help") or "").rstrip(".")
    if ":" not in text.split(" ")[0]:  # what it belongs to is spelled as it is
        text = text[:1].upper() + text[1:]
    if "usual" in metadata:
        usual = metadata["usual"]
        said = ("no", "yes")[usual] if isinstance(usual, bool) else usual or "none"
        said = usual.__doc__ if callable(usual) else said
        text += f"; default: the model's own, otherwise {said}"
    return f"{text} ({metadata['source']})." if metadata.get("source") else f"{text}."


def files_of(
    settings: Iterable[Any], what: Literal["reads", "writes"]
) -> Iterator[tuple[str, str]]:
    """The settings that are files, read or written: as messages name them, with paths."""
    for kind in settings:
        for each in fields(kind):
            if no_file := each.metadata.get(what):
                value = getattr(kind, each.name)
                walks = each.metadata[what] == "walks"
                for path in value if isinstance(value, tuple) else (value,):
                    if path not in (None, no_file) and not (walks and os.path.isdir(path)):
                        yield spelled(each), path


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What a help page says besides flags: fields of records, and examples."""

    reads: str = ""
    adds: str = ""
    writes: str = ""
    examples: str = ""

    @property
    def records(self) -> Mapping[str, str]:
        """What is done with the fields of records, and their names."""
        rows = {"reads": self.reads, "adds": self.adds, "writes": self.writes}
        return {what: names for what, names in rows.items() if names}


@dataclass(frozen=True)
class Command(Declared):
    """What a command's file declares; the command line and Python are made of it.

    `work` is what Python calls: with settings, or with records and settings, if records are what
    the command is about. The docstring of `settings` is the help. `also` are settings that several
    commands share, and `main` is what the command line calls with one instance of each class.
    Settings in `without` have no flag. A record without an id gets its number, if `numbered`.
    `about` is the help where that docstring is not. Where Python may give texts in place of
    records, `texts` says of the settings of which field they are.
    """

    work: Callable[..., Any]
    settings: type
    main: Callable[..., None]
    also: tuple[type, ...] = ()
    without: Collection[str] = ()
    numbered: bool = True
    texts: Callable[[Any], str] | None = None
    name: str = ""
    about: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.work.__name__.replace("_", "-"))

    @property
    def help(self) -> str:
        """What it does, as its help says it."""
        return self.about or inspect.cleandoc(self.settings.__doc__ or "")


@dataclass(frozen=True, kw_only=True)
class Group(Declared):
    """Commands below a command, as `plot trees` is."""

    heading: ClassVar[str] = "Commands"
    name: str
    help: str
    below: Mapping[str, Command] = field(default_factory=dict)

    def names(self) -> Sequence[str]:
        """The names of its commands."""
        return list(self.below)

    def command(self, name: str) -> Command | Group:
        """One of its commands; a name that there is not raises."""
        if name not in self.below:
            raise unknown(f"command of {self.name}", name, self.below)
        return self.below[name]

    def summary(self, name: str) -> str:
        """What a command is for, in one line."""
        return self.below[name].help.partition("\n")[0]


COMMANDS = tuple(name.replace("_", "-") for name in structkit.COMMANDS)


@dataclass(frozen=True, kw_only=True)
class Program(Group):
    """All commands: `mask-entities` is the `COMMAND` of structkit/commands/mask_entities.py."""

    name: str = "structkit"
    help: str = "Mask, parse, train, encode and search structured text, from JSONL to JSONL."

    def names(self) -> Sequence[str]:
        return COMMANDS

    def command(self, name: str) -> Command | Group:
        if name not in COMMANDS:
            raise unknown("command", name, COMMANDS)
        found: Command | Group = command_of(name)
        return found

    def summary(self, name: str) -> str:
        """The first line of a command's file, read without importing it."""
        path = Path(__file__).with_name("commands") / name.replace("-", "_")
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        with path.open(encoding="utf-8") as file:
            return file.readline().strip().strip('"')


@cache
def command_of(name: str) -> Any:
    """What the file of a command declares, imported now."""
    return import_module(f"structkit.commands.{name.replace('-', '_')}").COMMAND
