"""One file per language: where its entities are."""
