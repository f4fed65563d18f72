"""JSONL in and out: lines, records, rejects, streams, workers. May import the ground."""
