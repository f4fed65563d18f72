"""Public data at pinned revisions, written as the recipes read it: `make data`."""
