"""The commands as functions over dicts: each calls what its command calls, and checks as it does.

`from structkit import NAME` finds them; each is imported when it is asked for.
"""
