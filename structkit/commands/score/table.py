"""Score records as tables for people: they fit the terminal, and no number is broken.

Tests: tests/scoring/test_score_table.py.
"""

import html
import re
from collections.abc import Callable, Collection, Sequence

from structkit.progress import printable
from structkit.records.jsonl import Record

MIN_SHOWN_P = 0.001  # a smaller p is shown as `<0.001`
MARKDOWN_SPECIAL = re.compile(
    r"[\\`*|\[\]]"
)  # characters with a meaning in Markdown, also in names


def table_lines(
    rows: Sequence[Sequence[str]], to_right: Sequence[bool], markdown: bool = False
) -> list[str]:
    """Return the lines of a table, with cells as wide as their columns; the first row is its head.

    >>> table_lines([["run", "RR"], ["bm25", "0.5"]], [False, True])
    ['run    RR', 'bm25  0.5']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    forms = [
        f"{'>' if right else '<'}{width}" for right, width in zip(to_right, widths, strict=True)
    ]
    padded = [[*map(format, row, forms)] for row in rows]
    if not markdown:
        return ["  ".join(row).rstrip() for row in padded]
    rule = [
        "-" * (width - 1) + (":" if right else "-")
        for right, width in zip(to_right, widths, strict=True)
    ]
    return [f"| {' | '.join(row)} |" for row in (padded[0], rule, *padded[1:])]


def markdown_text(text: str) -> str:
    r"""Escape a text for a line of Markdown or a cell of its tables.

    >>> print(markdown_text("a|b\n<i>"))
    a\|b &lt;i&gt;
    """
    return html.escape(
        MARKDOWN_SPECIAL.sub(r"\\\g<0>", printable(" ".join(text.split()))), quote=False
    )


def score_table(records: Sequence[Record], markdown: bool = False, width: int | None = None) -> str:
    """Score records as a table for people: values with three decimals and their intervals.

    A table wider than `width` is one for each record, with a line for each value.

    >>> records = [{"run": "bm25", "queries": 2, "RR": 0.5, "RR_low": 0.25, "RR_high": 1.0}]
    >>> print(score_table(records))
    run   queries  RR
    bm25        2  0.500 [0.250, 1.000]
    >>> print(score_table(records, width=30))
    run      bm25
    queries  2
    RR       0.500 [0.250, 1.000]
    """
    if not records:
        return ""
    kinds = {name: type(record[name]) for record in reversed(records) for name in record}
    named = dict.fromkeys(name for record in records for name in record)
    names = [name for name in named if not _is_interval_end(name, kinds)]
    escape = markdown_text if markdown else printable
    rows = [[escape(name) for name in names]]
    for record in records:
        rows.append([_score_cell(record, name, escape) for name in names])
    lines = table_lines(rows, [kinds[name] is int for name in names], markdown)
    if width is None or max(map(len, lines)) <= width:
        return "\n".join(lines)
    each = (
        table_lines([*zip(rows[0], row, strict=True)], [False, False], markdown) for row in rows[1:]
    )
    return "\n\n".join(map("\n".join, each))


def _is_interval_end(name: str, record: Collection[str]) -> bool:
    """Return whether a field is an interval's end or a deviation, shown in its measure's cell."""
    return name.endswith(("_low", "_high", "_deviation")) and name.rpartition("_")[0] in record


def _score_cell(record: Record, name: str, escape: Callable[[str], str]) -> str:
    value = record.get(name, "")
    if not isinstance(value, float):
        return escape(str(value))
    if name.startswith("p_") and value < MIN_SHOWN_P:
        return f"<{MIN_SHOWN_P}"
    digits, deviation = 3, ""
    if f"{name}_deviation" in record:
        digits, deviation = 2, f" ± {record[f'{name}_deviation']:.2f}"
    if f"{name}_low" not in record:
        return f"{value:.{digits}f}{deviation}"
    low, high = (f"{record[f'{name}_{end}']:.{digits}f}" for end in ("low", "high"))
    return f"{value:.{digits}f}{deviation} [{low}, {high}]"
