"""Jupyter notebooks: their cells as one text in Markdown, and the program in them."""

from __future__ import annotations

import json
import json.scanner
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from structkit.errors import UserError
from structkit.structure.html.markdown import FrontMatter

SAVE = "open it in Jupyter and save it again, or rename it to .json"
MAGIC = re.compile(r"\s*(?:%|!|\?|[\w.]+\?{1,2}\s*$)")
# cell magics whose cell is in the language of the notebook; others name another one
SAME = frozenset(("capture", "prun", "time", "timeit"))
FENCE = re.compile(r"`{3,}")


class _Placed(str):
    """A string of JSON, and where it begins."""

    start = 0


@dataclass(frozen=True)
class NotebookCell:
    """A cell: code, markdown or raw; its lines, and the line of the file that each begins in."""

    kind: str
    lines: list[str]
    rows: list[int]


@dataclass
class Text:
    """Lines of text, each with the line of the notebook's file that it stands in, from 1."""

    lines: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)

    def add(self, lines: list[str], rows: list[int]) -> None:
        """Append some lines."""
        self.lines += lines
        self.rows += rows

    def __str__(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True)
class Notebook:
    """Cells of a notebook, in order and without outputs, and the language of its kernel."""

    cells: list[NotebookCell]
    language: str

    @classmethod
    def read(cls, text: str) -> Notebook:
        """Read a notebook of nbformat 3 or 4. Errors: another text."""
        try:
            data = _decoder()(text)
            sheets = data.get("worksheets") or [data]
            found = [each for sheet in sheets for each in sheet["cells"]]
            ends = _Rows(text)
            cells = [_cell(each, ends) for each in found]
            meta = data.get("metadata") or {}
            given = (meta.get("kernelspec") or {}).get("language")
            given = (meta.get("language_info") or {}).get("name") or given
            given = given or next((each["language"] for each in found if "language" in each), "")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            damage = error if isinstance(error, json.JSONDecodeError) else "it has no cells"
            raise UserError(f"is no notebook ({damage})", SAVE) from None
        return cls(cells, str(given or "python").lower())

    def markdown(self) -> Text:
        """Return all cells: Markdown unchanged, code between fences with its language.

        A raw cell is between fences, too, unless it is the front matter of the notebook.
        """
        text = Text()
        for cell in self.cells:
            if text.lines:
                text.add([""], text.rows[-1:])
            plain = "" if cell.kind == "code" else "\n".join([*cell.lines, ""])
            if cell.kind == "markdown" or (not text.lines and FrontMatter.of(plain)):
                text.add(cell.lines, cell.rows)
                continue
            runs = FENCE.findall("\n".join(cell.lines))
            fence = "`" * (1 + max(map(len, runs), default=2))
            language = _cell_magic(cell) or self.language if cell.kind == "code" else ""
            text.add([fence + language], cell.rows[:1])
            text.add(cell.lines, cell.rows)
            text.add([fence], cell.rows[-1:])
        return text

    def program(self) -> Text:
        """Return the code in the language of the kernel; IPython's magics become blank lines."""
        text = Text()
        for cell in self.cells:
            if cell.kind == "code" and not _cell_magic(cell):
                plain = ["" if MAGIC.match(line) else line for line in cell.lines]
                text.add([*plain, ""], [*cell.rows, *cell.rows[-1:]])
        return text


def _decoder() -> Callable[[str], Any]:
    """Return a JSON decoder, in Python, that records where each string begins."""
    decoder: Any = json.JSONDecoder(strict=False)
    scan = json.decoder.scanstring  # type: ignore[attr-defined]

    def placed(text: str, start: int, strict: bool = True) -> tuple[str, int]:
        value, end = scan(text, start, strict)
        found = _Placed(value)
        found.start = start
        return found, end

    decoder.parse_string = placed
    decoder.scan_once = json.scanner.py_make_scanner(decoder)  # type: ignore[attr-defined]
    decode: Callable[[str], Any] = decoder.decode
    return decode


class _Rows:
    """The lines of a text, by places that only grow."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.row = text, 0, 1

    def of(self, at: int) -> int:
        """Return the line of a place, from 1."""
        self.row += self.text.count("\n", self.at, at)
        self.at = at
        return self.row


def _cell(data: dict[str, Any], rows: _Rows) -> NotebookCell:
    kind = data["cell_type"]
    source: Any = data["input"] if "input" in data else data["source"]
    lines, places, begun = [""], list[int](), False
    for part in source if isinstance(source, list) else [source]:
        row = rows.of(part.start)
        first, *more = part.split("\n")
        lines[-1] += first
        lines += more
        # where a part ends a line, the next line begins in the next part
        places += [row] * (not begun) + [row] * len(more)
        begun = not part.endswith("\n")
        places = places if begun else places[:-1]
    places += [rows.row] * (len(lines) - len(places))
    if kind == "heading":  # of nbformat 3
        lines[0] = "#" * int(data.get("level", 1)) + " " + lines[0]
    return NotebookCell("markdown" if kind == "heading" else kind, lines, places)


def _cell_magic(cell: NotebookCell) -> str:
    """Return the language that the first line gives a cell, as in `%%bash`; empty if none."""
    name = re.match(r"%%([\w!]+)", cell.lines[0])
    return "" if name is None or name[1] in SAME else name[1].replace("!", "bash")
