"""What models do: training, encoders, StrAE, the span parser, encoding."""
