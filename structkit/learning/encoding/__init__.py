"""Records to embeddings by any model. May import encoders, strae and below."""
