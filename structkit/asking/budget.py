"""Answers cut to their best lines, so that together they have a given number of tokens.

Tests: tests/asking/test_budget.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from structkit.records.jsonl import Record
from structkit.searching.lines import first_line, text_of

CHARACTERS = 4  # of a token, about
ANSWERS = 10  # among which tokens are shared evenly; what one leaves over is for later ones
LEAST = 200  # characters of an answer, about five lines


def within(found: Iterable[Record], tokens: int) -> Iterator[Record]:
    """Yield the answers to a question with at most so many tokens together, best first.

    `lines` are those that remain of a passage, around its `line` and in its `symbol`.
    """
    left = tokens * CHARACTERS
    share = max(LEAST, left // ANSWERS)
    for answer in found:
        part = cut(answer, min(share, left))
        size = len(text_of(part)[1])
        if not size:
            return
        left -= size
        yield part


def cut(answer: Record, size: int) -> Record:
    r"""Return an answer whose text has at most `size` characters: whole lines, if one fits.

    >>> answer = {"code": "a = 1\nb = 2\nc = 3", "lines": [4, 6], "line": 5}
    >>> cut(answer, 12)
    {'code': 'b = 2\nc = 3', 'lines': [5, 6], 'line': 5}
    """
    field, text = text_of(answer)
    if len(text) <= size:
        return answer
    rows, first = text.split("\n"), first_line(answer)
    quote = answer.get("quote", "")
    if first is not None and "line" in answer:
        best = answer["line"] - first
    else:
        best = text.count("\n", 0, max(0, text.find(quote)))
    top, end = 0, len(rows) - 1
    if first is not None and "symbol_lines" in answer:
        inner = [line - first for line in answer["symbol_lines"]]
        top, end = max(top, inner[0]), min(end, inner[1])
    begin, after = best, best + 1
    left = size - len(rows[best])
    grown = True
    while grown:
        grown = False
        if after <= end and len(rows[after]) < left:
            left, after, grown = left - len(rows[after]) - 1, after + 1, True
        if begin > top and len(rows[begin - 1]) < left:
            left, begin, grown = left - len(rows[begin - 1]) - 1, begin - 1, True
    while begin < best and not rows[begin].strip():
        begin += 1
    while best < after - 1 and not rows[after - 1].strip():
        after -= 1
    shown = "\n".join(rows[begin:after])
    if left < 0:  # of a line that is longer: from its quote on
        shown = shown[max(0, shown.find(quote)) :][:size]
    lines = {} if first is None else {"lines": [first + begin, first + after - 1]}
    return {**answer, field: shown, **lines}
