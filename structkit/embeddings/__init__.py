"""Embeddings and their files, written and read. May import records and below."""
