"""Runs, judgements, measures, comparisons, tasks. May import training, embeddings and below."""
