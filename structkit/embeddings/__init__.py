"""Embeddings and their files: one room for writer and readers. May import records and below."""
