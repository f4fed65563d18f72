"""Tables of token vectors, whose mean embeds a text. May import training and below.

Reading a table imports no torch: it is for programs that start often.
"""
