"""One file per sign of how well a hit answers."""
