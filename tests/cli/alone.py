"""structkit with its own plugins alone, whatever else is installed: python tests/cli/alone.py …"""

from structkit import registry
from structkit.cli import main


def alone() -> None:
    """Hide the plugins of other packs from this process."""
    own = tuple(each for each in registry.plugins() if each.pack == "structkit_plugins")
    registry.plugins = lambda: own


if __name__ == "__main__":
    alone()
    main()
