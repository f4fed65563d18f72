"""Commands as functions over dicts, with the same checks as on the command line.

A DataFrame of pandas or polars is its rows, a dict each.

`from structkit import NAME` finds them; each is imported on first use.
"""
