"""Models: folders, training, encoders, StrAE, the span parser, tables, encoding."""
