"""The training engine, which knows no method. May import folders and below."""
