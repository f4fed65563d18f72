"""Model folders: where they are, and what they hold and say. May import records and below."""
