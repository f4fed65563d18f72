"""Score records as tables for people: they fit the terminal, and no number is broken.

Tests: tests/scoring/test_score_table.py.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from structkit.progress import printable
from structkit.records.jsonl import Record

MIN_SHOWN_P = 0.001  # a smaller p is shown as `<0.001`
MARKDOWN_SPECIAL = re.compile(
    r"[\\`*|\[\]]"
)  # characters with a meaning in Markdown, also in names


class Column(NamedTuple):
    """A name with the cells under it."""

    cells: list[str]
    to_right: bool = False

    @property
    def width(self) -> int:
        return max(map(len, self.cells))


def pad_columns(columns: Sequence[Column]) -> list[tuple[str, ...]]:
    """Return the lines of a table, with cells as wide as their columns."""
    cells = [
        [cell.rjust(each.width) if each.to_right else cell.ljust(each.width) for cell in each.cells]
        for each in columns
    ]
    return list(zip(*cells, strict=True))


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
    columns = [
        Column(
            [escape(name), *(_score_cell(record, name, escape) for record in records)],
            kinds[name] is int,
        )
        for name in names
    ]
    lines = _table_lines(columns, markdown)
    if width is None or max(map(len, lines)) <= width:
        return "\n".join(lines)
    head, *rows = zip(*(column.cells for column in columns), strict=True)
    each = (_table_lines([Column([*head]), Column([*row])], markdown) for row in rows)
    return "\n\n".join(map("\n".join, each))


def _table_lines(columns: list[Column], markdown: bool) -> list[str]:
    if not markdown:
        return ["  ".join(line).rstrip() for line in pad_columns(columns)]
    head, *rows = pad_columns(columns)
    rule = ["-" * (column.width - 1) + (":" if column.to_right else "-") for column in columns]
    return [f"| {' | '.join(line)} |" for line in (head, rule, *rows)]


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
