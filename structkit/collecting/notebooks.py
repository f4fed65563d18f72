"""Jupyter notebooks: their cells as one text in Markdown, and the program in them."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from structkit.errors import UserError
from structkit.structure.html.markdown import FrontMatter

REMEDY = "open it in Jupyter and save it again, or rename it to .json"
JSON_STRING = r'"(?:[^"\\]++|\\.)*+(?:"|\Z)'
JSON_TEXT = re.compile(JSON_STRING, re.S)
SOURCE = re.compile(
    rf"""
    "(?:source|input)" \s*+ : \s*+        # of nbformat 4 and 3; in a string, quotes are escaped
    (?:\[ \s*+)?+
    ((?: {JSON_STRING} [\s,]*+ )*+)        # its parts
    """,
    re.X | re.S,
)
SURROGATE = re.compile("[\ud800-\udfff]")  # alone, as the decoder joins pairs
LINE_END = re.compile(r"\r\n?")
IPYTHON_LINE = re.compile(r"\s*(?:%|!|\?|[\w.]+\?{1,2}\s*$)")
# cell magics whose cell is in the language of the notebook; others name another one
TRANSPARENT_MAGICS = frozenset(("capture", "prun", "time", "timeit"))
BACKTICKS = re.compile(r"`{3,}")
DECODER = json.JSONDecoder(strict=False)


# a line of text, and the line of the notebook's file that it stands in, from 1
FileLine = tuple[str, int]


@dataclass(frozen=True)
class NotebookCell:
    """A cell: code, markdown or raw; its lines, at least one."""

    kind: str
    lines: list[FileLine]


@dataclass(frozen=True)
class Notebook:
    """Cells of a notebook, in order and without outputs, and the language of its kernel."""

    cells: list[NotebookCell]
    language: str

    @classmethod
    def read(cls, text: str) -> Notebook:
        """Read a notebook of nbformat 3 or 4. Errors: another text."""
        try:
            notebook = DECODER.decode(text)
            sheets = notebook.get("worksheets") or [notebook]
            cells = [cell for sheet in sheets for cell in sheet["cells"]]
            rows = _SourceRows(text)
            read_cells = [_read_cell(cell, rows) for cell in cells]
            language = _language(notebook.get("metadata") or {}, cells)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            damage = error if isinstance(error, json.JSONDecodeError) else "it has no cells"
            raise UserError(f"is no notebook ({damage})", REMEDY) from None
        return cls(read_cells, language)

    def markdown(self) -> list[FileLine]:
        """Return all cells: Markdown unchanged, code between fences with its language.

        A raw cell is between fences, too, unless it is the front matter of the notebook.
        """
        lines: list[FileLine] = []
        for cell in self.cells:
            text = "".join(f"{line}\n" for line, _ in cell.lines)
            first, last = cell.lines[0][1], cell.lines[-1][1]
            if lines:
                lines.append(("", lines[-1][1]))
            is_front = not lines and cell.kind != "code" and FrontMatter.of(text)
            if cell.kind == "markdown" or is_front:
                lines += cell.lines
                continue
            fence = "`" * (1 + max(map(len, BACKTICKS.findall(text)), default=2))
            language = _cell_magic(cell) or self.language if cell.kind == "code" else ""
            lines += [(fence + language, first), *cell.lines, (fence, last)]
        return lines

    def program(self) -> list[FileLine]:
        """Return the code in the language of the kernel; IPython's magics become blank lines."""
        lines: list[FileLine] = []
        for cell in self.cells:
            if cell.kind == "code" and not _cell_magic(cell):
                for line, row in cell.lines:
                    lines.append(("" if IPYTHON_LINE.match(line) else line, row))
                lines.append(("", lines[-1][1]))
        return lines


def _language(metadata: dict[str, Any], cells: list[dict[str, Any]]) -> str:
    """Return the language of a kernel, in one line and without the marks of a fence."""
    of_cells = (cell["language"] for cell in cells if "language" in cell)
    named = (
        (metadata.get("language_info") or {}).get("name")
        or (metadata.get("kernelspec") or {}).get("language")
        or next(of_cells, "")
    )
    return " ".join(_well_formed(str(named or "python")).replace("`", "").lower().split())


class _SourceRows:
    """The lines of a notebook's file in which the parts of its cells begin, cell by cell."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.sources = SOURCE.finditer(text)
        self.place = 0
        self.row = 1

    def next_cell(self, parts: list[str]) -> list[int]:
        """Return the line of each part of the next cell, from 1; at least one line."""
        for source in self.sources:
            strings = list(JSON_TEXT.finditer(self.text, *source.span(1)))
            if [DECODER.decode(string[0]) for string in strings] == parts:
                places = [string.start() for string in strings] or [source.start()]
                return [self._row_of(place) for place in places]
        return [self.row] * max(1, len(parts))

    def _row_of(self, place: int) -> int:
        """Return the line of a place, which is behind the last one."""
        self.row += self.text.count("\n", self.place, place)
        self.place = place
        return self.row


def _read_cell(cell: dict[str, Any], file_rows: _SourceRows) -> NotebookCell:
    source: str | list[str] = cell["input"] if "input" in cell else cell["source"]
    parts = [source] if isinstance(source, str) else source
    part_rows = file_rows.next_cell(parts)
    parts = [LINE_END.sub("\n", _well_formed(part)) for part in parts]
    part_starts = list(accumulate(map(len, parts[:-1]), initial=0))
    lines = "".join(parts).split("\n")
    line_starts = accumulate((len(line) + 1 for line in lines[:-1]), initial=0)
    # where a part ends a line, the next line begins in the next part
    rows = [part_rows[bisect_right(part_starts, start) - 1] for start in line_starts]
    kind = cell["cell_type"]
    if kind == "heading":  # of nbformat 3
        kind = "markdown"
        level = cell.get("level", 1)
        marks = "#" * int(level) if level in range(1, 7) else "#"
        lines[0] = f"{marks} {lines[0]}"
    return NotebookCell(kind, list(zip(lines, rows, strict=True)))


def _well_formed(text: str) -> str:
    """Return a text of JSON with U+FFFD for each half of a surrogate pair, which is no text."""
    return SURROGATE.sub("\ufffd", text)


def _cell_magic(cell: NotebookCell) -> str:
    """Return the language that the first line gives a cell, as in `%%perl`; empty if none."""
    name = re.match(r"%%([\w!]+)", cell.lines[0][0])
    if name is None or name[1] in TRANSPARENT_MAGICS:
        return ""
    return name[1].replace("!", "sh")
