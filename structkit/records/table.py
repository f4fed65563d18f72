"""Tables for people: on a terminal; a pipe gets JSONL."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from structkit.records.jsonl import Record
from structkit.records.output import Output, write_records


class Column(NamedTuple):
    """A name with the cells under it."""

    cells: list[str]
    to_right: bool = False

    @property
    def width(self) -> int:
        return max(map(len, self.cells))


def padded(columns: Sequence[Column]) -> list[tuple[str, ...]]:
    """The lines of a table: cells as wide as their columns."""
    cells = [
        [cell.rjust(each.width) if each.to_right else cell.ljust(each.width) for cell in each.cells]
        for each in columns
    ]
    return list(zip(*cells, strict=True))


def aligned(columns: Sequence[Column]) -> list[str]:
    """The lines of a table as text."""
    return ["  ".join(line).rstrip() for line in padded(columns)]


def rows(records: Iterable[Record], names: Sequence[str]) -> list[str]:
    """The lines of a table of some fields, with a header.

    >>> for line in rows([{"kind": "language", "name": "go"}], ("kind", "name")): print(line)
    kind      name
    language  go
    """
    records = list(records)
    return aligned([Column([name, *(str(each[name]) for each in records)]) for name in names])


def write(records: Iterable[Record], path: str = "-", *, columns: Sequence[str]) -> None:
    """Write records as JSONL, or as a table of some columns where stdout is a terminal."""
    write_drawn(records, path, lambda shown, _: "\n".join(rows(shown, columns)))


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
