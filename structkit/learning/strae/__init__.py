"""StrAE, its family and its paper's baselines. May import training, structure and below."""
