"""One file per signal of how well a hit answers."""
