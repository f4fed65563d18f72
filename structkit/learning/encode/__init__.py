"""Records to embeddings by any model. May import encoders, engines, strae and below."""
