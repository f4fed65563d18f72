"""structkit with its own plugins alone, whatever else is installed."""

from structkit import registry


def alone() -> None:
    """Hide the plugins of other packs from this process."""
    every = registry.packs
    registry.packs = lambda: (each for each in every() if each[1].startswith(registry.OWN_PACKAGE))
