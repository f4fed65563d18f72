"""One file per signal of how well a hit answers. Tests: tests/ranking/test_rankers.py."""
