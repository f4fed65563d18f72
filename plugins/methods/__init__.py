"""One file per method: a model, its settings and its loss."""
