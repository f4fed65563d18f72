"""The structure of text: code, HTML, trees. May import records and below."""

import re
from bisect import bisect_left
from collections.abc import Callable
from typing import TypeAlias

# A stretch of a text, text[start:end]: half-open, in characters. A plain pair, because there is
# one for every name of a program and a class would cost a tenth of the whole masking.
Span: TypeAlias = tuple[int, int]


def lines_of(text: str) -> Callable[[int, int], list[int]]:
    r"""Return a function from characters, `start` and `end`, to the first and last line, from 1.

    White space at either end does not count.

    >>> lines = lines_of("def f():\n    return 1\n\nf()\n")
    >>> lines(0, 8), lines(8, 22), lines(0, 27), lines(23, 24)
    ([1, 1], [2, 2], [1, 4], [4, 4])
    """
    ends = [match.start() for match in re.finditer("\n", text)]

    def lines(start: int, end: int) -> list[int]:
        piece = text[start:end]
        if piece and not piece.isspace():
            start, end = end - len(piece.lstrip()), start + len(piece.rstrip())
        return [bisect_left(ends, place) + 1 for place in (start, max(start, end - 1))]

    return lines
