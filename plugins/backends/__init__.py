"""One file per search backend for embeddings. Tests: tests/searching/test_approximate.py."""
