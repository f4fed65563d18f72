"""Tables: the text of each row, with the labels of its columns."""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, takewhile

from structkit.structure import Span
from structkit.structure.html.markup import Tag, attributes

CELL_TAGS = ("td", "th")
TABLE_PARTS = frozenset(
    "td th tr /tr caption /caption thead tbody tfoot /thead /tbody /tfoot colgroup /table".split()
)
SPAN_ATTRIBUTE = re.compile("(?:col|row)span", re.I)
SPAN_NUMBER = re.compile(r"\s*(\d{1,5})")
# A cell of many rows, or the label of a column, is repeated in each of their texts: these bounds,
# far above those of readable tables, keep a large one from being repeated without end.
MAX_LABELED_COLUMNS = 100  # that have labels
MAX_DOWNWARD_CELLS = 10  # cells of rows above
MAX_REPEATED_CHARACTERS = 100  # characters of a label, or of such a cell


@dataclass
class TableCell:
    """A cell: its text, whether it is a header, how many columns and rows it is in, its places."""

    text: str = ""
    header: bool = False
    columns: int = 1
    rows: int = 1
    places: list[Span] = field(default_factory=list)


@dataclass
class TableRow:
    """A row: where it is, its cells, whether it is in the head of its table, its group of rows."""

    start: int
    end: int
    cells: list[TableCell]
    head: bool = False
    group: int = 0
    xpath: str = ""


@dataclass
class HtmlTable:
    """A table: its caption, its rows."""

    caption: TableCell
    rows: list[TableRow]

    @property
    def cells(self) -> Iterator[TableCell]:
        """The caption and all cells."""
        return chain((self.caption,), *(row.cells for row in self.rows))

    def texts(self) -> Iterator[tuple[int, str]]:
        """Yield the number of each data row, from 1, and its cells after their labels.

        The first rows of headers label the columns; a header of all columns is part of the caption.
        A cell of several rows is in the text of each.

        >>> year = TableCell("Year", header=True), TableCell("Winner", header=True)
        >>> rows = year, (TableCell("1999", rows=2), TableCell("Ann")), (TableCell("Bo"),)
        >>> table = HtmlTable(TableCell(), [TableRow(0, 0, list(cells)) for cells in rows])
        >>> list(table.texts())
        [(2, 'Year: 1999; Winner: Ann'), (3, 'Year: 1999; Winner: Bo')]
        """
        heads = sum(1 for _ in takewhile(_has_headers_alone, self.rows))
        if heads == len(self.rows):  # headers alone are data
            heads = 0
        labels: dict[int, str] = {}
        for number, cells in enumerate(_placed_rows(self.rows), 1):
            if number > heads:
                named = ((labels.get(column), cell.text) for column, cell in cells)
                parts = (f"{label}: {of}" if label and of else of for label, of in named)
                if text := "; ".join(filter(None, parts)):
                    yield number, text
            elif len(cells) > 1:
                _add_labels(labels, cells)

    @property
    def heading(self) -> str:
        """The caption, and the headers over the whole table."""
        alone = [
            row.cells[0].text
            for row in takewhile(_has_headers_alone, self.rows)
            if len(row.cells) == 1
        ]
        over = alone if len(alone) < len(self.rows) else []
        return " ".join(filter(None, [self.caption.text, *over]))


def _has_headers_alone(row: TableRow) -> bool:
    """Return whether a row has headers alone."""
    return row.head or (bool(row.cells) and all(cell.header for cell in row.cells))


def _add_labels(labels: dict[int, str], cells: list[tuple[int, TableCell]]) -> None:
    """Add a row of headers to the labels of their columns."""
    for column, cell in cells:
        for each in range(column, min(column + cell.columns, MAX_LABELED_COLUMNS)):
            above = labels.get(each, "")
            if cell.text != above:  # a header of several rows
                labels[each] = _brief(f"{above} {cell.text}".strip())


def _placed_rows(rows: Sequence[TableRow]) -> Iterator[list[tuple[int, TableCell]]]:
    """Yield the cells of each row, with their first columns; also downward-growing ones from above.

    No cell reaches below its group of rows (HTML standard, section 4.9.12.1).
    """
    downward: dict[int, TableCell] = {}
    group = 0
    for row in rows:
        if row.group != group:
            group, downward = row.group, {}
        placed = dict(downward)
        spans = ((column, column + cell.columns) for column, cell in downward.items())
        taken = {at for span in spans for at in range(*span)}
        column = 0
        for cell in row.cells:
            while column in taken:
                column += 1
            placed[column] = cell
            column += cell.columns
        yield sorted(placed.items())
        below = sorted((column, cell) for column, cell in placed.items() if cell.rows > 1)
        downward = {
            column: replace(cell, text=_brief(cell.text), rows=cell.rows - 1)
            for column, cell in below[:MAX_DOWNWARD_CELLS]
        }


def _brief(text: str) -> str:
    """Return the words of a text that fit the bound."""
    cut = text[:MAX_REPEATED_CHARACTERS]
    return text if cut == text else cut.rpartition(" ")[0] or cut


def tables(html: str, tags: Sequence[Tag]) -> list[HtmlTable]:
    """Return the tables of a document by its tags, in order, with the places of their texts.

    The text of a cell excludes nested tables; it extends to the next cell: end tags are optional.

    >>> from structkit.structure.html.markup import tags
    >>> page = "<table><caption>Teas<tr><th>Name<th>Cups<tr><td>Oolong<td>2</table>"
    >>> [table] = tables(page, list(tags(page)))
    >>> [[page[slice(*cell.places[0])] for cell in row.cells] for row in table.rows]
    [['<th>Name', '<th>Cups'], ['<td>Oolong', '<td>2']]
    """
    found: list[HtmlTable] = []
    open_tables: list[_OpenTable] = []
    for tag in tags:
        name = tag.name
        if name == "table":
            if open_tables:
                open_tables[-1].pause(tag.start)
            open_tables.append(_OpenTable())
            found.append(open_tables[-1].table)
        elif open_tables and name in TABLE_PARTS:
            open_tables[-1].take(html, tag)
            if name == "/table":
                open_tables.pop()
                if open_tables:
                    open_tables[-1].at = tag.end  # where the text of the cell goes on
    for each in open_tables:
        each.end_row(len(html))
    return found


class _OpenTable:
    """A table that is being read: its row, and its cell or caption."""

    def __init__(self) -> None:
        self.table = HtmlTable(TableCell(), [])
        self.row: TableRow | None = None
        self.cell: TableCell | None = None
        self.head = False
        self.group = 0
        self.at = 0  # where the text of the cell goes on

    def take(self, html: str, tag: Tag) -> None:
        """Take a tag of the table."""
        name = tag.name
        if name in CELL_TAGS and self.row:
            self.pause(tag.start)
            self.cell, self.at = TableCell("", name == "th", *_spans(html, tag)), tag.start
            self.row.cells.append(self.cell)
        elif name not in CELL_TAGS:
            self.end_row(tag.end if name == "/tr" else tag.start)
        if name == "tr":
            self.row = TableRow(tag.start, tag.end, [], self.head, self.group)
            self.table.rows.append(self.row)
        elif name == "caption":
            self.cell, self.at = self.table.caption, tag.start
        elif "head" in name or "body" in name or "foot" in name:
            self.head = name == "thead"
            self.group += 1

    def pause(self, at: int) -> None:
        """End a part of the cell's text."""
        if self.cell:
            self.cell.places.append((self.at, at))

    def end_row(self, at: int) -> None:
        """End the row, if one is open, and its cell or the caption."""
        self.pause(at)
        if self.row:
            self.row.end = at
        self.row = self.cell = None


def _spans(html: str, tag: Tag) -> tuple[int, int]:
    """Return a cell's columns and rows; 0 rows are all rows of the group."""
    if not SPAN_ATTRIBUTE.search(html, tag.start, tag.end):
        return 1, 1
    found = attributes(html[tag.start : tag.end])
    columns, rows = (SPAN_NUMBER.match(found.get(name, "")) for name in ("colspan", "rowspan"))
    across = min(max(int(columns[1]), 1), MAX_LABELED_COLUMNS) if columns else 1
    return across, (int(rows[1]) or sys.maxsize) if rows else 1
