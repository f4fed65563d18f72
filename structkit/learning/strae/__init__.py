"""StrAE and Self-StrAE. May import training, structure and below."""
