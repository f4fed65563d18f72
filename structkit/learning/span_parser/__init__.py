"""A constituency parser that scores spans. May import training, structure and below."""
