"""What is fast, measured beside the peer in the same run; nothing here is a timed test."""
