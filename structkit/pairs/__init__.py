"""Training examples: their negatives."""
