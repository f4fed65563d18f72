"""List the plugins that are installed."""

from __future__ import annotations

from collections.abc import Iterator

from structkit import registry
from structkit.records.jsonl import Record


def plugins() -> Iterator[Record]:
    """One record per plugin: kind, name, pack and summary; no plugin is imported."""
    for plugin in registry.plugins():
        yield {
            "kind": plugin.kind,
            "name": plugin.name,
            "pack": plugin.pack,
            "summary": plugin.summary(),
        }
