"""One file per parser: text to trees. Tests: tests/structure/trees/test_trees.py."""
