"""Tables: the text of each row, with the labels of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from structkit.structure.html.markup import MARKUP
from structkit.structure.html.reader import Reader
from structkit.structure.html.xpaths import walk

CELLS = ("td", "th")
TABLE = re.compile("<table", re.I)
SPAN = re.compile(r"\s(col|row)span\s*=\s*[\"']?\s*(\d{1,5})", re.I)
# A cell of many rows, or the label of a column, is repeated in each of their texts: these bounds,
# far above those of readable tables; keeps a large one from being repeated without end.
COLUMNS = 100  # that have labels
HANGING = 10  # cells of rows above
REPEATED = 100  # characters of a label, or of such a cell


class TableCell(NamedTuple):
    """A cell: its text, whether it is a header, how many columns and rows it is in."""

    text: str
    header: bool = False
    columns: int = 1
    rows: int = 1


class Row(NamedTuple):
    """A row: where it is, its cells, whether it is in the head of its table."""

    xpath: str
    start: int
    end: int
    cells: list[TableCell]
    head: bool = False


class HtmlTable(NamedTuple):
    """A table: its caption, its rows."""

    caption: str
    rows: list[Row]

    def texts(self) -> Iterator[tuple[int, str]]:
        """Yield the number of each data row, from 1, and its cells after their labels.

        The first rows of headers label the columns; a header of all columns is part of the caption.
        A cell of several rows is in the text of each.

        >>> year = TableCell("Year", header=True), TableCell("Winner", header=True)
        >>> rows = year, (TableCell("1999", rows=2), TableCell("Ann")), (TableCell("Bo"),)
        >>> list(HtmlTable("", [Row("", 0, 0, list(cells)) for cells in rows]).texts())
        [(2, 'Year: 1999; Winner: Ann'), (3, 'Year: 1999; Winner: Bo')]
        """
        heads = sum(1 for _ in takewhile(_labels, self.rows))
        heads %= len(self.rows) or 1  # headers alone are data
        labels: dict[int, str] = {}
        for number, cells in enumerate(_grid(self.rows), 1):
            if number > heads:
                named = ((labels.get(column), cell.text) for column, cell in cells)
                parts = (f"{label}: {of}" if label and of else of for label, of in named)
                if text := "; ".join(filter(None, parts)):
                    yield number, text
            elif len(cells) > 1:
                _label(labels, cells)

    @property
    def heading(self) -> str:
        """The caption, and the headers over the whole table."""
        alone = [row.cells[0].text for row in takewhile(_labels, self.rows) if len(row.cells) == 1]
        over = alone if len(alone) < len(self.rows) else []
        return " ".join(filter(None, [self.caption, *over]))


def _labels(row: Row) -> bool:
    """Return whether a row has headers alone."""
    return row.head or (bool(row.cells) and all(cell.header for cell in row.cells))


def _label(labels: dict[int, str], cells: list[tuple[int, TableCell]]) -> None:
    """Add a row of headers to the labels of their columns."""
    for column, cell in cells:
        for each in range(column, min(column + cell.columns, COLUMNS)):
            above = labels.get(each, "")
            if cell.text != above:  # a header of several rows
                labels[each] = _brief(f"{above} {cell.text}".strip())


def _grid(rows: Sequence[Row]) -> Iterator[list[tuple[int, TableCell]]]:
    """Yield the cells of each row, with the columns that they begin in, also from rows above."""
    hanging: dict[int, TableCell] = {}
    for row in rows:
        placed = dict(hanging)
        spans = ((column, column + cell.columns) for column, cell in hanging.items())
        taken = {at for span in spans for at in range(*span)}
        column = 0
        for cell in row.cells:
            while column in taken:
                column += 1
            placed[column] = cell
            column += cell.columns
        yield sorted(placed.items())
        below = sorted((column, cell) for column, cell in placed.items() if cell.rows > 1)
        hanging = {
            column: cell._replace(text=_brief(cell.text), rows=cell.rows - 1)
            for column, cell in below[:HANGING]
        }


def _brief(text: str) -> str:
    """Return the words of a text that fit the bound."""
    return text if len(text) <= REPEATED else text[:REPEATED].rpartition(" ")[0] or text[:REPEATED]


def tables(html: str) -> list[HtmlTable]:
    """Return the tables of a document, in its order; the text of a table excludes nested tables.

    >>> page = "<table><caption>Teas<tr><th>Name<th>Cups<tr><td>Oolong<td>2</table>"
    >>> [table] = tables(page)
    >>> table.heading, [(table.rows[number - 1].xpath, text) for number, text in table.texts()]
    ('Teas', [('/html/body/table/tr[2]', 'Name: Oolong; Cups: 2')])
    """
    if not TABLE.search(html):  # usually there is none, and a walk takes as long as the sections
        return []
    walked = walk(html, within="table")
    reader = Reader()
    # of each element: the table, row, cell and head of a table that it is in, or 0
    inside: list[tuple[int, int, int, int]] = []
    for number, element in enumerate(walked.elements):
        table, row, cell, head = inside[element.parent] if number else (0, 0, 0, 0)
        if element.name == "table":
            table, row, cell, head = number, 0, 0, 0
        elif element.name == "tr" and table:
            row, cell = number, 0
        elif element.name in CELLS and row:
            cell = number
        elif element.name == "thead":
            head = number
        inside.append((table, row, cell, head))
    blocks = {block.element: block for block in walked.blocks[1:]}  # the first is the document
    holes: dict[int, list[tuple[int, int]]] = {}  # of cells: the tables in them
    for number, block in blocks.items():
        element = walked.elements[number]
        if element.name == "table" and (cell := inside[element.parent][2]):
            holes.setdefault(cell, []).append((block.start, block.end))
    found: dict[int, HtmlTable] = {}
    rows: dict[int, Row] = {}
    for number, block in blocks.items():
        name, (table, row, cell, head) = walked.elements[number].name, inside[number]
        if name == "table":
            found[number] = HtmlTable("", [])
        elif name == "caption" and table:
            caption = reader.read(html[block.start : block.end]).text
            found[table] = found[table]._replace(caption=caption)
        elif row == number:
            rows[row] = Row(walked.xpath(row), block.start, block.end, [], head > 0)
            found[table].rows.append(rows[row])
        elif cell == number:
            text = reader.read(_without(html, block.start, block.end, holes.get(cell, []))).text
            rows[row].cells.append(TableCell(text, name == "th", *_spans(html, block.start)))
    return list(found.values())


def _without(html: str, start: int, end: int, holes: list[tuple[int, int]]) -> str:
    """Return a part of a text without some parts of it, which are in order."""
    starts, ends = [start, *(hole[1] for hole in holes)], [*(hole[0] for hole in holes), end]
    return " ".join(html[a:b] for a, b in zip(starts, ends, strict=True))


def _spans(html: str, start: int) -> tuple[int, int]:
    """Return a cell's columns and rows; HTML's 0, all rows below, is 1 here."""
    tag = MARKUP.match(html, start)
    spans = {kind.lower(): int(number) for kind, number in SPAN.findall(tag[0] if tag else "")}
    return min(max(spans.get("col", 1), 1), COLUMNS), max(spans.get("row", 1), 1)
