"""Tables of the site become cards on phones, and no line breaks a flag or an interval apart."""

from __future__ import annotations

import re
from typing import Any

INTERVAL = re.compile(r"-?[\d.,]+ \[-?[\d.,]+, -?[\d.,]+\]")
TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
HEADING, CELL = re.compile(r"<th[^>]*>(.*?)</th>"), re.compile(r"<td([^>]*)>(.*?)</td>")
CODE, FLAG = re.compile("<code>[^<]*</code>"), re.compile(r"(?<![\w-])--?[a-z][\w-]*")
TAG = re.compile(r"<[^>]+>")
COLUMNS, LONG = 4, 40  # from these many columns and characters of a cell on, rows become cards


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Change the tables and the flags of a page."""
    whole = INTERVAL.sub(lambda found: found[0].replace(" ", "&nbsp;"), html)
    whole = CODE.sub(lambda found: FLAG.sub(r'<span class="flag">\g<0></span>', found[0]), whole)
    return TABLE.sub(lambda found: as_cards(found[0]), whole)


def as_cards(table: str) -> str:
    """A table whose cells know their column, if it has many columns and long cells.

    >>> as_cards("<table><tr><td>1</td></tr></table>")
    '<table><tr><td>1</td></tr></table>'
    """
    names = [TAG.sub("", each) for each in HEADING.findall(table)]
    longest = max((len(TAG.sub("", text)) for _, text in CELL.findall(table)), default=0)
    if len(names) < COLUMNS or longest < LONG:
        return table

    def row(found: re.Match[str]) -> str:
        labels = iter(names)
        return CELL.sub(
            lambda cell: f'<td{cell[1]} data-label="{next(labels, "")}">{cell[2]}</td>', found[0]
        )

    return re.sub(r"<tr>.*?</tr>", row, table, flags=re.DOTALL).replace(
        "<table", "<table data-cards"
    )
