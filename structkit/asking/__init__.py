"""Asking: a folder's passages in a cache, and their answers. May import ranking and below."""
