"""Flags made of dataclass fields: `train METHOD --help` is its method's settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator
from dataclasses import MISSING, Field, fields
from enum import StrEnum
from typing import Annotated, Any, get_type_hints

import typer

from structkit import registry
from structkit.cli.numbers import checked
from structkit.cli.pages import PageGroup, shown
from structkit.plugin import GROUPS, flag_of, group_of, help_of

SHORT = {"output": "-o", "quiet": "-q"}


def command(
    name: str,
    summary: str,
    settings: list[type],
    call: Callable[..., None],
    without: Collection[str] = (),
    **others: Any,
) -> Any:
    """A command with one flag for each field of the dataclasses, and other parameters before them.

    Fields in `without` are no flags and keep their defaults.

    `call` gets the other parameters by name, and one instance of each dataclass in order.
    """
    parameters = [_parameter(name, annotation) for name, annotation in others.items()]
    for heading, field, hint in _grouped(settings, without):
        parameters.append(_parameter(field.name, _flag(field, hint, heading), field))

    def body(**values: Any) -> None:
        made = [
            group(**{each.name: _plain(values.pop(each.name)) for each in flags_of(group, without)})
            for group in settings
        ]
        call(*made, **values)

    body.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    body.__annotations__ = {each.name: each.annotation for each in parameters}
    return checked(name, body, help=summary, max_content_width=100)


def _grouped(
    settings: list[type], without: Collection[str]
) -> Iterator[tuple[str, Field[Any], Any]]:
    """All flags with the heading and the type of each, group by group."""
    of_group: dict[str, list[tuple[Field[Any], Any]]] = {group: [] for group in GROUPS}
    for kind in settings:
        hints = get_type_hints(kind)
        for field in flags_of(kind, without):
            of_group[group_of(kind, field.name)].append((field, hints[field.name]))
    return ((GROUPS[group], *each) for group in GROUPS for each in of_group[group])


def flags_of(settings: type, without: Collection[str]) -> list[Field[Any]]:
    """The fields of a dataclass that are flags."""
    return [field for field in fields(settings) if field.name not in without]


def _parameter(name: str, annotation: Any, field: Field[Any] | None = None) -> inspect.Parameter:
    default = None if field is None or field.default is MISSING else field.default
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _flag(field: Field[Any], hint: Any, heading: str) -> Any:
    """The annotation from which typer makes a flag."""
    flag = flag_of(field.name)
    either = hint in (bool, bool | None)
    names = [f"{flag}/{flag_of(f'no_{field.name}')}"] if either else [flag]
    if field.name in SHORT:
        names = [flag, SHORT[field.name]]
    if choices := field.metadata.get("choices"):
        hint = _enum(field.name, choices)
    return Annotated[
        hint, typer.Option(*names, help=help_of(field.metadata), rich_help_panel=heading)
    ]


def _enum(name: str, choices: tuple[str, ...]) -> Any:
    return StrEnum(name, {choice: choice for choice in choices})


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, StrEnum) else value


class MethodGroup(PageGroup):
    """The commands `train METHOD`: one for each installed method, imported when it is asked for."""

    heading = "Methods"
    call: Callable[..., None]
    options: Callable[[], type]
    others: dict[str, Any]

    def list_commands(self, ctx: Any) -> list[str]:
        return registry.names("method")

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if getattr(ctx, "resilient_parsing", False) and cmd_name not in registry.names("method"):
            return None
        plugin = registry.find("method", cmd_name)
        method = registry.load("method", cmd_name)
        settings = [method, type(self).options()]
        call = type(self).call

        def train(*made: Any, **values: Any) -> None:
            call(cmd_name, *made, **values)

        idle = method.idle_options()
        made = command(cmd_name, plugin.summary(), settings, train, idle, **type(self).others)
        made.records = {"reads": method.records} if method.records else {}
        made.epilog = shown(method.example) if method.example else None
        return made

    def rows(self, ctx: Any) -> list[tuple[str, str]]:
        plugins = (plugin for plugin in registry.plugins() if plugin.kind == "method")
        return [(plugin.name, plugin.summary()) for plugin in plugins]
