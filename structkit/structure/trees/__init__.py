"""Trees over words: brackets, shapes, parsers."""
