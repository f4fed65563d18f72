"""Hugging Face encoders: models, poolings, losses, folders. May import training and below."""
