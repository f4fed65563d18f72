"""Processes that run a command: forked ones, ones that are replaced, and those of a Ray cluster."""
