"""One file per comparison system. Tests: tests/papers."""
