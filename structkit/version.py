"""The version of structkit."""

__version__ = "0.1.0"
