"""The commands as functions over dicts: each calls what its command calls, and checks as it does.

A DataFrame of pandas or polars is its rows, a dict each.

`from structkit import NAME` finds them; each is imported when it is asked for.
"""
