"""What text is made of: spans, sentinels, syntax."""
