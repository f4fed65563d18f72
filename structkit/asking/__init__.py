"""Asking: a folder's passages, kept in a cache, and what answers a question. May import ranking."""
