"""structkit with its own plugins alone, whatever else is installed."""

from importlib import metadata
from typing import Any


def alone() -> None:
    """Hide the plugins of other packs from this process."""
    every: Any = metadata.entry_points

    def own(**chosen: str) -> metadata.EntryPoints:
        found = every(**chosen)
        if chosen.get("group") != "structkit.plugins":
            return found
        return metadata.EntryPoints(each for each in found if each.value == "structkit_plugins")

    metadata.entry_points = own
