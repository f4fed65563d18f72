"""Tables for people: on a terminal; a pipe gets JSONL. Tests: tests/scoring/test_score_table.py."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Iterable, Sequence

from structkit.records.jsonl import Record
from structkit.records.output import Output, write_records


def table(records: Iterable[Record], names: Sequence[str], width: int | None = None) -> str:
    """Return a table of some fields, with a header; the last column is folded to the width.

    >>> print(table([{"kind": "language", "name": "go"}], ("kind", "name")))
    kind      name
    language  go
    """
    from rich.console import Console  # 50 ms that only a terminal pays
    from rich.table import Table  # as above

    shown = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="")
    for name in names:
        shown.add_column(name, no_wrap=name != names[-1], overflow="fold")
    for each in records:
        shown.add_row(*(str(each[name]) for name in names))
    console = Console(
        file=io.StringIO(), width=width or 10_000, color_system=None, markup=False, emoji=False
    )
    with console.capture() as drawn:
        console.print(shown, crop=False)
    return "\n".join(map(str.rstrip, drawn.get().splitlines()))


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
