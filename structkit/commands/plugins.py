"""List the plugins: languages, profiles, parsers, methods, backends, rankers, formats."""

from __future__ import annotations

from collections.abc import Iterator

from structkit import registry
from structkit.command import Command
from structkit.records.jsonl import Record
from structkit.records.output import format_table, write_drawn
from structkit.records.stream import OutputOptions
from structkit.settings import settings_class


@settings_class
class Settings:
    """List the installed languages, profiles, parsers, methods, backends, rankers and formats."""


def plugins(settings: Settings) -> Iterator[Record]:
    """Yield one record per plugin: kind, name, pack and summary; no plugin is imported."""
    for plugin in registry.plugins():
        yield {
            "kind": plugin.kind,
            "name": plugin.name,
            "pack": plugin.pack,
            "summary": plugin.summary(),
        }


def _main(settings: Settings, options: OutputOptions) -> None:
    write_drawn(
        plugins(settings),
        options.output,
        lambda listed, width: format_table(listed, ("kind", "name", "summary"), width),
    )


COMMAND = Command(
    plugins,
    Settings,
    _main,
    also=(OutputOptions,),
    writes="`kind`, `name`, `pack`, `summary`",
    examples="structkit plugins",
)
