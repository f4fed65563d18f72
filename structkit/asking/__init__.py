"""Asking: a folder's passages in a cache, and what answers. May import ranking and below."""
