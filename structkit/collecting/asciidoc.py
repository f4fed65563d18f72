"""AsciiDoc to pages, sections and rows of tables, by the rules of Asciidoctor.

Tests: tests/collecting/test_asciidoc.py.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from structkit.collecting.naming import UniqueNames
from structkit.collecting.pages import GlossaryEntry, Heading, Page
from structkit.structure.html.tables import HtmlTable, TableCell, TableRow

TITLE = re.compile(r"(={1,6}|#{1,6})\s+(\S.*)")
UNDERLINE = re.compile(r"([=~^+-])\1+$")
UNDERLINE_SIGNS = "=-~^+"  # of titles on two lines, by level
BLOCK_BORDER = re.compile(
    r"""
    (?: -{4,} | ={4,} | \.{4,} | \*{4,} | _{4,} | \+{4,} | /{4,}   # code, example, sidebar, quote …
      | -- | `{3,}\S* | [|,:!]={3,}                                # open block, fence, table
    )$
    """,
    re.X,
)
ABOUT_NEXT_BLOCK = re.compile(r"\[.*\]$|//|:!?\w[\w-]*!?:(?:\s|$)")  # attributes and comments
ATTRIBUTE_ENTRY = re.compile(r":(\w[\w-]*):(?:\s+(.*))?$")
ATTRIBUTE_REFERENCE = re.compile(r"\{(\w[\w-]*)\}")  # to an attribute
ANCHOR = re.compile(
    r"""
      \[\[ ([^\[\],]+) [^\[\]]* \]\]
    | \[\# ([^\[\],.%]+) [^\[\]]* \]
    | \[id=["']? ([^"'\[\],]+) [^\[\]]* \]
    """,
    re.X,
)
# links, references, pictures, and marked text: all but their texts goes
INLINE_MACRO = re.compile(
    r"""
      (?<!\S) (?: link: | xref: | https?:// ) [^\s\[\]]* \[ ([^\]]*) \]
    | << [^<,>]* ,? ([^<>]*) >>
    | (?: image | icon ): [^\s\[\]]* \[ [^\]]* \]
    | (?: \[ [^\[\]]* \] )? (?<!\w) \# ([^\s\#] (?: [^\#]* [^\s\#] )?) \# (?!\w)
    """,
    re.X,
)
TEXT_MARKS = re.compile(r"[`*]|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)")
NOT_IN_ID = re.compile(r"[^ \w.-]| -- |\b--\b")  # a dash is no sign
LIST_TERM = re.compile(r"\s*(\S.*?)::(?:\s+(\S)|$)")
IN_LIST = re.compile(r"\s|[*.-]+\s|\d+\.\s|\+$")  # how a line begins that does not end a list
# the border before a cell, with how often the cell is repeated, or its columns and rows
CELL = re.compile(
    r"""
    (?: (?<!\S)
        (?: (\d+)\* | (\d*) (?: \.(\d+) )? \+ )?
        [<^>]? (?: \.[<^>] )? [a-z]?              # alignment, style
      | (?<!\\)
    )\|
    """,
    re.X,
)
COLUMNS = re.compile(r"cols=[\"']?(?:(\d+)\*|([^\"'\]]*))")
MAX_COLUMNS = 100


@dataclass
class _TableLines:
    """Lines of a table between its borders, and the attributes above it."""

    start: int
    end: int
    attributes: str


class AsciiDocPage(Page):
    """A document in AsciiDoc; its text keeps all marks, and its title is above all sections."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._title = ""
        self._at_top = True  # where the title of the document stands
        self._attributes: dict[str, str] = {}
        self.headings: list[Heading] = []  # of sections
        self._prose: list[int] = []  # lines outside of blocks
        self._table_lines: list[_TableLines] = []
        self._read()

    def _read(self) -> None:
        """Find titles, tables, and the prose between blocks."""
        border = ""  # that ends the open block
        above = ""  # attributes of the next block
        may_begin = True  # whether a title can stand here, and not in a paragraph
        last_row = -1  # of a title
        for row in range(self._front.lines if self._front else 0, len(self.lines)):
            line = self.lines[row].rstrip()
            if border:
                if line == border:
                    border = ""
                    if self._table_lines:
                        self._table_lines[-1].end = min(row, self._table_lines[-1].end)
            elif row == last_row:
                continue
            elif may_begin and (title := self._title_at(row)):
                level, text, last_row = title
                self._add_title(level, text, row, above)
                above = ""
            elif BLOCK_BORDER.match(line):
                border = "```" if line.startswith("```") else line
                self._at_top = False
                if line.startswith("|"):
                    self._table_lines.append(_TableLines(row + 1, len(self.lines), above))
                above, may_begin = "", True
            elif ABOUT_NEXT_BLOCK.match(line):
                above, may_begin = above + line, True
                if entry := ATTRIBUTE_ENTRY.match(line):
                    self._attributes[entry[1]] = entry[2] or ""
            else:
                self._prose.append(row)
                may_begin = not line
                if line:
                    above = ""
                    self._at_top = False

    def _title_at(self, row: int) -> tuple[int, str, int] | None:
        """Return level and text of a title that begins in a line, and its last line."""
        line = self.lines[row].rstrip()
        if title := TITLE.match(line):
            return len(title[1]), title[2].removesuffix(f" {title[1]}"), row
        below = self.lines[row + 1].rstrip() if row + 1 < len(self.lines) else ""
        under = UNDERLINE.match(below)
        fits = abs(len(line) - len(below)) < 2 and any(map(str.isalnum, line))
        if not under or not fits or line[0] in ".|" or ABOUT_NEXT_BLOCK.match(line):
            return None
        return UNDERLINE_SIGNS.index(under[1]) + 1, line, row + 1

    def _add_title(self, level: int, marked: str, row: int, attributes: str) -> None:
        """Add a title of a section, below its attributes."""
        explicit = ANCHOR.search(attributes) or ANCHOR.search(marked)
        text = self._plain(marked)
        is_top, self._at_top = self._at_top, False
        if level == 1 and is_top:
            self._title = text
            return
        anchor = explicit[explicit.lastindex or 0] if explicit else self._section_id(text)
        self.headings.append(Heading(level, text, row, anchor))

    def _plain(self, text: str) -> str:
        """Return a text of a line without anchors, marks and macros, attributes replaced."""
        text = ATTRIBUTE_REFERENCE.sub(lambda name: self._attributes.get(name[1], name[0]), text)
        text = INLINE_MACRO.sub(
            lambda macro: macro[macro.lastindex] if macro.lastindex else "", ANCHOR.sub("", text)
        )
        return " ".join(TEXT_MARKS.sub("", text).split())

    def _section_id(self, text: str) -> str:
        """Return the id that Asciidoctor makes of a title."""
        prefix = self._attributes.get("idprefix", "_")
        separator = self._ids.separator
        name = prefix + NOT_IN_ID.sub("", text.lower())
        name = re.sub(rf"[ .{re.escape(separator)}-]+", separator, name).removesuffix(separator)
        return self._ids.take(name if prefix else name.removeprefix(separator))

    @cached_property
    def _ids(self) -> UniqueNames:
        return UniqueNames(self._attributes.get("idseparator", "_")[:1], 2)

    def _declared_title(self) -> str:
        return self._title or super()._declared_title()

    @cached_property
    def _glossary(self) -> list[GlossaryEntry]:
        """The entries of description lists, each with its term."""
        ends = [*(heading.start for heading in self.headings), len(self.lines)]
        entries: list[GlossaryEntry] = []
        is_open = has_text = False
        for row in self._prose:
            line = self.lines[row]
            term = LIST_TERM.match(line)
            after_blank = row > 0 and not self.lines[row - 1].strip()
            is_over = has_text and after_blank and line.strip() and not IN_LIST.match(line)
            if is_open and (term or is_over):
                entries[-1].end = entries[-1].explained_at = min(entries[-1].end, row)
                is_open = False
            if term:
                end = ends[bisect_right(ends, row)]
                entries.append(GlossaryEntry(row, end, end, self._plain(term[1])))
                is_open, has_text = True, bool(term[2])
            else:
                has_text = has_text or bool(line.strip())
        return entries

    def _tables(self) -> Iterator[HtmlTable]:
        return map(self._table, self._table_lines)

    def _table(self, lines: _TableLines) -> HtmlTable:
        """Return a table: cells fill row after row, however many stand in a line."""
        cells = self._cells(lines)
        first_line = [cell for row, cell in cells if row == cells[0][0]]
        declared = COLUMNS.search(lines.attributes)
        if declared:
            columns = int(declared[1] or declared[2].count(",") + 1)
        else:
            columns = sum(cell.columns for cell in first_line)
        below_first = self.lines[lines.start + 1 : lines.start + 2]
        is_implicit = bool(cells) and cells[0][0] == lines.start and below_first == [""]
        has_header = "header" in lines.attributes or is_implicit
        table = HtmlTable(TableCell(), [])
        downward = 0  # columns of a row that belong to cells of rows above …
        changes = Counter[int]()  # … and how many begin or end at each row
        width = columns
        for row, cell in cells:
            if width >= columns:
                is_header = has_header and not table.rows
                table.rows.append(TableRow(row, row, [], head=is_header))
                downward += changes[len(table.rows)]
                width = downward
            current = table.rows[-1]
            current.end = row + 1
            text = self._plain(cell.text.replace("\\|", "|"))
            current.cells.append(replace(cell, text=text, header=current.head))
            width += cell.columns
            changes[len(table.rows) + 1] += cell.columns
            changes[len(table.rows) + cell.rows] -= cell.columns
        return table

    def _cells(self, lines: _TableLines) -> list[tuple[int, TableCell]]:
        """Return the cells between the borders of a table, each with its line."""
        cells: list[tuple[int, TableCell]] = []
        current = TableCell()  # before the first border
        for row in range(lines.start, lines.end):
            line = self.lines[row]
            at = 0
            for border in CELL.finditer(line):
                current.text += f" {line[at : border.start()]}"
                times, columns, rows = (max(1, int(number or 1)) for number in border.groups())
                current = TableCell(columns=min(columns, MAX_COLUMNS), rows=rows)
                cells += [(row, current)] * min(times, MAX_COLUMNS)
                at = border.end()
            current.text += f" {line[at:]}"
        return cells
