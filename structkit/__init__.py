"""Composable command-line tools for structured text: mask, vary, parse, train, encode, search."""

__version__ = "0.1.0"
