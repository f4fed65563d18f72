"""One file per place where embeddings are searched."""
