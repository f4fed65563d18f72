"""The settings of a command, a method, a plugin: each a flag, a keyword and a row of the help.

A class of settings is a `settings_class` with fields made by `setting`. `settings_of` gives them as
`Setting`s. The command line makes flags of them, Python keywords, help and manual their rows;
errors name them by `flag`. Tests: tests/cli/test_numbers.py.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cache
from typing import (
    Any,
    Literal,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from structkit.errors import flag, format_number, spell_settings, unknown, wrong_usage

# the headings of a long help, in its order; a command may have others, which come before the last
HELP_GROUPS: dict[str, str] = {
    "common": "Options",
    "method": "Method",
    "model": "Model",
    "texts": "Texts",
    "loss": "Loss",
    "schedule": "Schedule and validation",
    "speed": "Memory and speed",
    "run": "Run",
}
INTEGER_LIMIT = 2**63  # larger integers fit into no file of numbers
# what a field that overrides another takes over from it
INHERITED_FIELDS = ("help", "choices", "low", "high", "group", "parse", "inferred")


Texts = tuple[str, ...]
SettingsClass = TypeVar("SettingsClass")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def settings_class(kind: type[SettingsClass]) -> type[SettingsClass]:
    """Make a class of settings: a frozen dataclass with keyword fields."""
    return dataclass(frozen=True, kw_only=True)(kind)


@dataclass(frozen=True)
class Setting:
    """One setting of a class, with all that flags, keywords, help and checks need of it."""

    default: Any = ...
    """Its value where none is given; `...`: one must be given."""

    help: str = ""
    source: str = ""
    """Origin of the default."""

    choices: Texts = ()
    low: float | None = None
    high: float | None = None
    """The bounds of a number."""

    usual: Any = ...
    """Default of a setting that may stay open: a value, or a function of the settings, whose
    docstring the help shows. Reading the setting gives it."""

    inferred: str = ""
    """Words of the help for a default that the command infers from a record, a model or a file."""

    group: str = ""
    """Heading under which the help lists it: a key of `HELP_GROUPS`, or one of its own."""

    short: str = ""
    """A second flag, such as `-o`."""

    argument: bool = False
    """True for an argument, False for a flag."""

    metavar: str = ""
    """Placeholder of the value in the help."""

    complete: str = ""
    """The kind of plugin whose names a shell offers."""

    reads: bool | str = False
    writes: bool | str = False
    """True for a file; a text is a value that is no file, "walks" allows a folder."""

    parse: Callable[[str], str] | None = None
    """Function that reads the flag's text first."""

    requires: Texts = ()
    """Settings of which it needs one."""

    excludes: Texts = ()
    """Settings that cannot be given with it."""

    remedy: Callable[[], str] = lambda: "name it"
    """Remedy in the message of a missing value."""

    name: str = ""
    hint: Any = None
    """Its type."""

    type_text: str = ""
    """Its type, as written in the class."""

    @property
    def types(self) -> tuple[Any, ...]:
        """The types that it may have, without None."""
        union = get_origin(self.hint) in (Union, types.UnionType)
        hints = get_args(self.hint) if union else (self.hint,)
        return tuple(hint for hint in hints if hint is not type(None))

    @property
    def is_list(self) -> bool:
        """Whether it is a list of values."""
        return any(get_origin(hint) in (tuple, list) for hint in self.types)

    @property
    def item_types(self) -> tuple[Any, ...]:
        """The types that one of its values may have."""
        lists = [hint for hint in self.types if get_origin(hint) in (tuple, list)]
        return get_args(lists[0])[:1] if lists else self.types

    @property
    def accepts_single_text(self) -> bool:
        """Whether one text may stand for a list of them, as a question does."""
        return self.parse is not None

    @property
    def required(self) -> bool:
        """Whether a value must be given."""
        return self.default is ...

    @property
    def help_text(self) -> str:
        """Its help with the source of its default, as the help shows it."""
        text = spell_settings(self.help).rstrip(".")
        text = text[:1].upper() + text[1:]
        return f"{text} ({self.source})." if self.source else f"{text}."

    @property
    def shown_default(self) -> str:
        """Its default, as the help shows it; empty where there is nothing to show."""
        parts = [spell_settings(self.inferred)] if self.inferred else []
        if self.usual is not ...:
            parts.append(format_value(self.usual))
        elif not parts and self.default is not False and self.default not in (..., None, ()):
            parts.append(format_value(self.default))
        return ", otherwise ".join(parts)

    def spell(self, value: object = None) -> str:
        """Return its name for a message, with a wrong value: `--mask-ratio 2`, `FILE`."""
        return flag(self.name, value, self.metavar if self.argument else "")

    def is_given(self, value: Any) -> bool:
        """Return whether a value is another one than its default."""
        return value is not None and value != () and value != self.default


def format_value(value: Any) -> str:
    """Return a default or a bound as the help shows it."""
    if isinstance(value, tuple):
        return " ".join(map(format_value, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, types.FunctionType):
        words = spell_settings(" ".join((value.__doc__ or "").split()))
        is_acronym = words[1:2].isupper()
        return words if is_acronym else words[:1].lower() + words[1:]
    return (f"{value:g}" if isinstance(value, float) else str(value)) or "none"


class _UsualValue:
    """The value of a field where none is given, decided when it is read."""

    def __init__(self, usual: Any) -> None:
        self.usual = usual

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __set__(self, settings: Any, value: Any) -> None:
        vars(settings)[self.name] = None if value is self else value

    def __get__(self, settings: Any, owner: type | None = None) -> Any:
        if settings is None:
            return self
        given = vars(settings)[self.name]
        if given is not None:
            return given
        return self.usual(settings) if callable(self.usual) else self.usual


def setting(
    default: Any,
    help: str = "",
    source: str = "",
    choices: Texts = (),
    *,
    requires: str | Texts = (),
    excludes: str | Texts = (),
    **more: Any,
) -> Any:
    """Declare a field of settings: its default (`...`: it must be given), its help and source.

    `more` are fields of `Setting`. A field that overrides an inherited default keeps its help,
    choices, bounds and group, where it says no others.
    """
    declared = Setting(
        default,
        help,
        source,
        choices,
        requires=(requires,) if isinstance(requires, str) else requires,
        excludes=(excludes,) if isinstance(excludes, str) else excludes,
        **more,
    )
    metadata = {"setting": declared}
    if default is ...:
        return field(metadata=metadata)
    if declared.usual is not ...:
        default = _UsualValue(declared.usual)
    return field(default=default, metadata=metadata)


def seed_setting() -> Any:
    """Declare the seed of a command."""
    return setting(0, "Seed of all randomness, together with the record's id.", group="run")


def quiet_setting() -> Any:
    """Declare whether a command speaks."""
    return setting(False, "Print only errors.", short="-q")


def offline_setting() -> Any:
    """Declare whether a model must be here: its name is not looked up on the hub."""
    return setting(False, "Never use the network.", group="run")


def file_setting(help: str, default: Any = None, *, metavar: str = "FILE", **more: Any) -> Any:
    """Declare a file that a command reads; several, if the default is a tuple."""
    return setting(default, help, metavar=metavar, reads=True, **more)


def unicode(text: str) -> str:
    """Return a text of the command line; bytes that are not UTF-8 are replaced."""
    return os.fsencode(text).decode("utf-8", "replace")


def settings_of(kind: Any) -> tuple[Setting, ...]:
    """Return the settings of a class in their order, including inherited ones."""
    return _settings_of(kind)  # to mypy a class is no argument of a cached function


@cache
def _settings_of(kind: Any) -> tuple[Setting, ...]:
    hints = get_type_hints(kind)
    return tuple(_resolve(kind, field, hints[field.name]) for field in fields(kind))


def _resolve(kind: Any, field: Field[Any], hint: Any) -> Setting:
    """Return a field as a setting, completed from the nearest class that declares more."""
    values: dict[str, Any] = {"group": getattr(kind, "own_group", "common")}
    for base in reversed(kind.__mro__):
        base_field = vars(base).get("__dataclass_fields__", {}).get(field.name)
        declared = base_field and base_field.metadata.get("setting")
        for name in INHERITED_FIELDS if declared else ():
            if (value := getattr(declared, name)) not in (None, (), ""):
                values[name] = value
    values |= {"name": field.name, "hint": hint, "type_text": str(field.type)}
    declared = field.metadata.get("setting")
    if declared is None:  # the field was declared without `setting`
        declared = Setting(... if field.default is MISSING else field.default)
    resolved: Setting = replace(declared, **values)
    literals = [get_args(kind) for kind in resolved.types if is_literal(kind)]
    return replace(resolved, choices=literals[0]) if literals else resolved


def is_literal(hint: Any) -> bool:
    """Return whether a type is a list of names."""
    return get_origin(hint) is Literal


def given_values(settings: Any) -> dict[str, Any]:
    """Return the given values of settings, before other settings decide what is left open."""
    return {field.name: vars(settings)[field.name] for field in fields(settings)}


def make(kind: type[SettingsClass], values: Mapping[str, Any]) -> SettingsClass:
    """Make and check settings of a class, so that wrong usage raises before any work is done.

    Errors: `UserError` with status 2 for a value of another type, out of its bounds or choices, for
    a missing one, and for settings that do not go together.
    """
    converted: dict[str, Any] = {}
    for setting in settings_of(kind):
        if setting.name in values:
            converted[setting.name] = convert_value(setting, values[setting.name])
            _check_values(setting, converted[setting.name])
        elif setting.required:
            raise wrong_usage(f"missing {setting.spell()}", setting.remedy())
    settings = kind(**converted)
    check_others(settings)
    return settings


def convert_value(setting: Setting, value: Any) -> Any:
    """Convert a value to the type of its setting: a path to text, a list to a tuple.

    Errors: `UserError` with status 2 for a value of another type.
    """
    takes_none = setting.default is None or setting.types != (setting.hint,)
    if value is None and takes_none:
        return None
    if not setting.is_list:
        return _convert_one(setting, value)
    if isinstance(value, str) and setting.accepts_single_text:
        value = (value,)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise wrong_usage(f"{flag(setting.name)} is {value!r}, not a list", f"give {[value]!r}")
    return tuple(_convert_one(setting, item) for item in value)


def _convert_one(setting: Setting, value: Any) -> Any:
    """Convert one value of a setting to its type."""
    value = os.fspath(value) if isinstance(value, os.PathLike) else value
    kinds = [str if is_literal(hint) else hint for hint in setting.item_types]
    classes = [hint for hint in kinds if isinstance(hint, type)]
    names = " or ".join(hint.__name__ for hint in classes)
    if isinstance(value, bool):
        fits = bool in classes
    else:
        accepted = (*classes, int) if float in classes else tuple(classes)
        fits = isinstance(value, accepted)
    if fits or len(classes) < len(kinds):
        return value
    raise wrong_usage(f"{flag(setting.name)} is {value!r}, not {names}", "give one")


def check(settings: Any) -> None:
    """Raise for a setting out of its choices or bounds, or without a setting that it requires."""
    for setting in settings_of(type(settings)):
        _check_values(setting, getattr(settings, setting.name))
    check_others(settings)


def _check_values(setting: Setting, value: Any) -> None:
    for item in value if isinstance(value, tuple) else (value,):
        if item is not None:
            _check_value(setting, item)


def _check_value(setting: Setting, value: Any) -> None:
    """Raise for one value of a setting that is out of its choices or bounds."""
    if isinstance(value, str):
        # a model folder records it as JSON; the name of a file may be any bytes
        file = setting.argument or setting.reads or setting.writes
        if not file and value != value.encode(errors="ignore").decode():
            raise wrong_usage(f"{setting.spell(value)} is not UTF-8", "give it another name")
        if setting.choices and value not in setting.choices:
            raise unknown(setting.spell(), value, setting.choices)
        if value == "" and "" not in (setting.default, setting.usual):
            raise wrong_usage(f"{setting.spell()} is empty", "give it a value")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        low, high = setting.low, setting.high
        largest = INTEGER_LIMIT - 1 if isinstance(value, int) else sys.float_info.max
        lowest = -largest if low is None else low
        highest = largest if high is None else high
        if not lowest <= value <= highest:  # NaN is in no range
            raise wrong_usage(
                f"{setting.spell(value)} is not {range_of(low, high, type(value))}",
                "give a number in that range",
            )


def range_of(low: float | None, high: float | None, kind: type = int) -> str:
    """Return bounds in words.

    >>> range_of(1, None), range_of(0.0, 1.0), range_of(None, None)
    ('1 or more', 'in 0 … 1', 'in 64 bits')
    """
    if low is None and high is None:
        return "in 64 bits" if kind is int else "a finite number"
    if high is None:
        return f"{format_number(low or 0)} or more"
    return (
        f"{format_number(high)} or less"
        if low is None
        else f"in {format_number(low)} … {format_number(high)}"
    )


def change(settings: SettingsClass, **values: Any) -> SettingsClass:
    """Return settings with other values; what is not given stays open."""
    return type(settings)(**given_values(settings) | values)


def flags_given(settings: Any, kind: type) -> list[str]:
    """Return the given settings of a class, or of a base class, as messages name them."""
    given = given_values(settings)
    return [
        flag(setting.name, False if given[setting.name] is False else None)
        for setting in settings_of(kind)
        if setting.is_given(given[setting.name])
    ]


def check_others(*instances: Any) -> None:
    """Raise if a setting is given without one that it requires, or with one that it excludes."""
    given = {
        setting.name: setting
        for settings in instances
        for setting in settings_of(type(settings))
        if setting.is_given(given_values(settings)[setting.name])
    }
    for setting in given.values():
        if setting.requires and given.keys().isdisjoint(setting.requires):
            others = " or ".join(map(flag, setting.requires))
            add = "it" if len(setting.requires) == 1 else "one"
            raise wrong_usage(f"{setting.spell()} needs {others}", f"add {add}")
        for name in setting.excludes:
            if name in given:
                problem = f"{setting.spell()} and {given[name].spell()} exclude each other"
                raise wrong_usage(problem, "leave one out")


def parse_text(setting: Setting, text: str) -> Any:
    """Return the value of a flag's text, as a number if the setting is one."""
    text = setting.parse(text) if setting.parse else text
    for number in (int, float):
        if number in setting.item_types:
            with suppress(ValueError):  # `make` rejects text that is no number
                return number(text)
    return text


def files_of(
    settings: Iterable[Any], what: Literal["reads", "writes"]
) -> Iterator[tuple[str, str]]:
    """Yield settings that are files, read or written: their names in messages, and paths."""
    for instance in settings:
        for setting in settings_of(type(instance)):
            if declared := getattr(setting, what):
                value = getattr(instance, setting.name)
                for path in value if isinstance(value, tuple) else (value,):
                    if path in (None, declared):  # no path: the text that the setting declares
                        continue
                    if declared != "walks" or not os.path.isdir(path):
                        yield setting.spell(), path
