"""One file per profile. Tests: tests/papers/test_official.py."""
