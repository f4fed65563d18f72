"""structkit with its own plugins alone, whatever else is installed."""

from structkit import registry


def alone() -> None:
    """Hide the plugins of other packs from this process."""
    own = tuple(each for each in registry.plugins() if each.pack == "structkit_plugins")
    registry.plugins = lambda: own
