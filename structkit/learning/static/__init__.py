"""Tables of token vectors, whose mean is a text. May import training and below.

What reads a table imports no torch: it is for programs that start often.
"""
