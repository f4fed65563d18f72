"""Tables for people: on a terminal; a pipe gets JSONL."""

from __future__ import annotations

import html
import os
import re
import shutil
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from structkit.records.jsonl import Record
from structkit.records.output import Output, write_records

NARROW = 20  # columns that the last cell of a line gets at least

SPECIAL = re.compile(r"[\\`*|\[\]]")  # what Markdown gives a meaning, in names too


class Column(NamedTuple):
    """A name with the cells under it."""

    cells: list[str]
    to_right: bool = False

    @property
    def width(self) -> int:
        return max(map(len, self.cells))


def pad(columns: Sequence[Column]) -> list[tuple[str, ...]]:
    """The lines of a table: cells as wide as their columns."""
    cells = [
        [cell.rjust(each.width) if each.to_right else cell.ljust(each.width) for cell in each.cells]
        for each in columns
    ]
    return list(zip(*cells, strict=True))


def markdown_text(text: str) -> str:
    r"""A text in a line of Markdown, or a cell of its tables: nothing in it means more than itself.

    >>> print(markdown_text("a|b\n<i>"))
    a\|b &lt;i&gt;
    """
    return html.escape(SPECIAL.sub(r"\\\g<0>", " ".join(text.split())), quote=False)


def align(columns: Sequence[Column]) -> list[str]:
    """The lines of a table as text."""
    return ["  ".join(line).rstrip() for line in pad(columns)]


def rows(records: Iterable[Record], names: Sequence[str], width: int | None = None) -> list[str]:
    """The lines of a table of some fields, with a header; the last column fits in the width.

    >>> for line in rows([{"kind": "language", "name": "go"}], ("kind", "name")): print(line)
    kind      name
    language  go
    """
    lines = [[*names], *([str(each[name]) for name in names] for each in records)]
    if width:
        taken = sum(max(map(len, cells)) + 2 for cells in list(zip(*lines, strict=True))[:-1])
        lines = [part for line in lines for part in _folded(line, max(width - taken, NARROW))]
    return align([Column(list(cells)) for cells in zip(*lines, strict=True)])


def _folded(line: list[str], room: int) -> list[list[str]]:
    """A line as several, each with a part of the last cell, no wider than the room."""
    *others, last = line
    # words stay whole: they are to be copied
    parts = textwrap.wrap(last, room, break_long_words=False, break_on_hyphens=False) or [""]
    cells = [others] + [[""] * len(others)] * (len(parts) - 1)
    return [[*before, part] for before, part in zip(cells, parts, strict=True)]


def write(records: Iterable[Record], path: str = "-", *, columns: Sequence[str]) -> None:
    """Write records as JSONL, or as a table of some columns where stdout is a terminal."""
    write_drawn(records, path, lambda shown, width: "\n".join(rows(shown, columns, width)))


def write_drawn(
    records: Iterable[Record],
    path: str,
    draw: Callable[[list[Record], int | None], str],
    *,
    always: bool = False,
) -> None:
    """Write records as JSONL, or as `draw` makes a table of them where stdout is a terminal.

    `draw` gets the width of the terminal; with `always` it draws for files and pipes too.
    """
    person = path == "-" and os.isatty(1)
    if always or person:
        width = shutil.get_terminal_size().columns if person else None
        with Output(path) as output:
            output.write((draw(list(records), width) + "\n").encode())
    else:
        write_records(records, path)
