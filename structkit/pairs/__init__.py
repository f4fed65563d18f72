"""Training examples: fields, splits, judgements, hard negatives. May import scoring and below."""
