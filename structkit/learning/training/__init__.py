"""The training engine, which knows no method. May import records and below."""
