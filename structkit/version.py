"""The version of structkit. Tests: tests/test_release.py."""

__version__ = "0.1.0"
