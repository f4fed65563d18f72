"""Records as a table for people: on a terminal; a pipe gets JSONL."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from structkit.records.jsonl import Record
from structkit.records.output import write_records


def write(records: Iterable[Record], path: str = "-", *, columns: Sequence[str]) -> None:
    """Write records as JSONL, or as a table of some columns when stdout is a terminal."""
    if path == "-" and os.isatty(1):
        print("\n".join(rows(records, columns)))  # noqa: T201 a table is for people
    else:
        write_records(records, path)


def rows(records: Iterable[Record], columns: Sequence[str]) -> list[str]:
    """The lines of an aligned table with a header.

    >>> for line in rows([{"kind": "language", "name": "go"}], ("kind", "name")): print(line)
    kind      name
    language  go
    """
    cells = [list(columns), *([str(record[column]) for column in columns] for record in records)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]
