"""Answers cut to their best lines, so that together they have a given number of tokens.

Tests: tests/asking/test_budget.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from structkit.errors import flag
from structkit.progress import format_count
from structkit.records.jsonl import Record
from structkit.searching.lines import field_and_text, first_line_number

TOKEN_CHARACTERS = 4  # about
SHARING_ANSWERS = 10  # get even shares of the tokens; what one leaves over is for later ones
MIN_ANSWER_CHARACTERS = 200  # about five lines


@dataclass(frozen=True)
class Shortened:
    """Answers to a question with a number of tokens together, and what they lack."""

    tokens: int
    answers: list[Record]
    left_out: int  # answers
    lines: int  # of the others that were cut

    def note(self) -> str:
        """Return what was left out, and how to get it; empty if nothing was."""
        lacking = []
        if self.left_out:
            lacking.append(format_count(self.left_out, "more answer"))
        if self.lines:
            lacking.append(f"{format_count(self.lines, 'line')} of the passages above")
        if not lacking:
            return ""
        return f"{flag('tokens', self.tokens)} leaves out {' and '.join(lacking)}; raise it"


def shorten(found: Sequence[Record], tokens: int) -> Shortened:
    """Return the answers to a question with at most so many tokens together, best first.

    `lines` are those that remain of a passage, around its `line` and in its `symbol`.
    """
    left, lines = tokens * TOKEN_CHARACTERS, 0
    share = max(MIN_ANSWER_CHARACTERS, left // SHARING_ANSWERS)
    shown = list[Record]()
    for answer in found:
        part = cut(answer, min(share, left))
        text, whole = field_and_text(part)[1], field_and_text(answer)[1]
        if not text:
            break
        left -= len(text)
        lines += whole.count("\n") - text.count("\n")
        shown.append(part)
    return Shortened(tokens, shown, len(found) - len(shown), lines)


def cut(answer: Record, size: int) -> Record:
    r"""Return an answer whose text has at most `size` characters: whole lines, if one fits.

    >>> answer = {"code": "a = 1\nb = 2\nc = 3", "lines": [4, 6], "line": 5}
    >>> cut(answer, 12)
    {'code': 'b = 2\nc = 3', 'lines': [5, 6], 'line': 5}
    """
    field, text = field_and_text(answer)
    if len(text) <= size:
        return answer
    rows, first = text.split("\n"), first_line_number(answer)
    quote = answer.get("quote", "")
    if first is not None and "line" in answer:
        best = answer["line"] - first
    else:
        best = text.count("\n", 0, max(0, text.find(quote)))
    top, end = 0, len(rows)
    if first is not None and "symbol_lines" in answer:
        symbol_top, symbol_end = answer["symbol_lines"]
        top, end = max(top, symbol_top - first), min(end, symbol_end - first + 1)
    begin, after = best, best + 1
    left, size_before = size - len(rows[best]), -1
    while size_before != after - begin:  # it still grows
        size_before = after - begin
        if after < end and len(rows[after]) < left:
            left -= len(rows[after]) + 1
            after += 1
        if begin > top and len(rows[begin - 1]) < left:
            begin -= 1
            left -= len(rows[begin]) + 1
    while begin < best and not rows[begin].strip():
        begin += 1
    while best < after - 1 and not rows[after - 1].strip():
        after -= 1
    shown = "\n".join(rows[begin:after])
    if left < 0:  # of a line that is longer: whole words, from its quote on
        shown = shown[max(0, shown.find(quote)) :]
        whole_words = shown[: size + 1].rpartition(" ")[0]
        shown = whole_words if whole_words.strip() else shown[:size]
    lines = {} if first is None else {"lines": [first + begin, first + after - 1]}
    return {**answer, field: shown, **lines}
