"""One file per interchange format. Tests: tests/commands/test_convert.py."""
