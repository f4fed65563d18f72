"""Tables spoiled: a cell of the second line of TREC, BEIR, CSV and bracket files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from ..cases import Case
from ..sessions import Session
from .files import named
from .records import replace_line

ENDINGS = (".trec", ".tsv", ".csv", ".txt", ".conllu", ".mrg")
CELLS = (
    *(b"", b"x", b"-1", b"1.5", b"nan", b"inf", b"1e400", b"9" * 30, b'"', b"a b", b"\t", b"\0"),
    *(b"\xe9", "é".encode(), b"((", b"))", b"1_0", b"x" * 100_000),
)


def table_cases(session: Session) -> Iterator[Case]:
    """Each cell of the second line replaced, left out, and doubled."""
    for file in session.files():
        if not file.endswith(ENDINGS):
            continue
        lines = (session.store / file).read_bytes().splitlines(keepends=True)
        cells = re.split(rb"([ \t,]+)", lines[min(1, len(lines) - 1)].rstrip(b"\n"))
        for number in range(0, len(cells), 2):
            before, behind = cells[:number], cells[number + 1 :]
            changes = {f"is {cell[:9]!r}": [*before, cell, *behind] for cell in CELLS}
            # a row of a run may come from several files, and is known by what is in it
            quoted = {f"is {cell[:9]!r}": f'"{ascii(cell)[2:-1]}"' for cell in CELLS}
            quoted["left out"] = '""'
            quoted["doubled"] = f'"{cells[number].decode("utf-8", "replace")} '
            changes["left out"] = [*before, *behind[1:]]
            changes["doubled"] = [*before, cells[number], *(behind[:1] or [b" "]), *cells[number:]]
            for how, changed in changes.items():
                line = b"".join(changed) + b"\n"
                spoil = partial(replace_line, file=file, line=line, skip=False)
                place = f"{file} column {number // 2 + 1}"
                names = named(session, file)
                names = names and (*names, *filter(None, [quoted.get(how)]))
                yield Case(session, place, how, spoil, names)
