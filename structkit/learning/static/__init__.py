"""Tables of token vectors, whose mean is a text. Below the encoders, which train them.

What reads a table imports no torch: it is for programs that start often.
"""
