"""One file per search backend for embeddings."""
