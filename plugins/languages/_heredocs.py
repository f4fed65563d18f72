"""Heredocs inside heredocs, which the grammar of Ruby does not know."""

from __future__ import annotations

import re

# a bare label is in capitals: `class <<self` begins none
START = (
    r"<<(?:(?P<indented>[~-])|(?=[\"'`]?[A-Z]))(?P<quote>[\"'`]?)(?P<label>[A-Za-z_]\w*)(?P=quote)"
)
HEREDOC = re.compile(START)
INSIDE = re.compile(rf"(?P<brace>#?\{{|\}})|{START}")
PRINTABLE = re.compile(r"[!-~]")


def plain_heredocs(text: str) -> str:
    r"""Return the text with blanks for heredocs that hold others; each place stays.

    >>> plain_heredocs("f <<~A\n #{<<~B}\n  b\n B\nA\ng")
    'f <<~A\n        \n   \n  \nA\ng'
    """
    if "<<" not in text or "#{" not in text:
        return text
    lines = text.split("\n")
    last = {line.strip(): row for row, line in enumerate(lines)}
    row = 0
    while row < len(lines):
        starts = HEREDOC.finditer(lines[row]) if "<<" in lines[row] else ()
        row += 1
        for start in starts:
            end, nested = _body(lines, row, start, last)
            if nested:
                lines[row:end] = [PRINTABLE.sub(" ", line) for line in lines[row:end]]
            row = end + 1 if end else row
    return "\n".join(lines)


def _body(
    lines: list[str], row: int, start: re.Match[str], last: dict[str, int]
) -> tuple[int, bool]:
    """Return the row on which a heredoc ends, 0 if none, and whether others are inside."""
    if last.get(start["label"], 0) < row:
        return 0, False
    open_, braces, nested = [start], [0], False
    for number in range(row, len(lines)):
        line, heredoc = lines[number], open_[-1]
        if heredoc["label"] == (line.strip() if heredoc["indented"] else line.rstrip("\r")):
            open_.pop(), braces.pop()
            if not open_:
                return number, nested
        elif heredoc["quote"] != "'":
            inner = _inside(line, braces, number, last)
            nested |= bool(inner)
            open_ += inner[::-1]
            braces += [0] * len(inner)
    return 0, False


def _inside(line: str, braces: list[int], number: int, last: dict[str, int]) -> list[re.Match[str]]:
    """Return the heredocs that begin in the interpolations of a line, and count its open braces."""
    inner = list[re.Match[str]]()
    for token in INSIDE.finditer(line):
        if token["brace"] == "#{" or (token["brace"] and braces[-1]):
            braces[-1] += -1 if token["brace"] == "}" else 1
        elif token["label"] and braces[-1] and last.get(token["label"], 0) > number:
            inner.append(token)
    return inner
