"""What search does: embeddings, exact and lexical indexes, runs, measures."""
