"""What models do: encoders, losses, the training engine, model folders."""
