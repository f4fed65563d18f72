"""One file per method: a model, its settings and its loss. Tests: tests/commands/test_train.py."""
