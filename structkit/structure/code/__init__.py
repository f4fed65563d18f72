"""Code: its names, comments and syntax."""
