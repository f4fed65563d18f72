"""Search: exact and lexical indexes, hits. May import scoring and below."""
