"""Model folders: where they are and what is in them. May import records and below."""
