"""One file per interchange format."""
