"""A text to records: whole files, functions, chunks, pages, sections or sentences."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache

from structkit.collecting.chunks import cut
from structkit.collecting.kinds import CODE, HTML, MARKDOWN, TEXT, Kind, kind_of
from structkit.collecting.pages import Note, Page
from structkit.errors import UserError
from structkit.records.jsonl import Record
from structkit.registry import load
from structkit.registry import names as plugin_names
from structkit.structure.code.outline import Definition, Outline, Program
from structkit.structure.sentences import sentences

DEFAULTS = {CODE: "chunk", HTML: "page", MARKDOWN: "page", TEXT: "sentence"}
FIELDS = {CODE: "code", HTML: "html", MARKDOWN: "text", TEXT: "text"}
# the name of a unit in its file, empty for the whole file, and the fields of the unit
Unit = tuple[str, Record]


@dataclass(frozen=True)
class Units:
    """What texts are cut into: the flags of the command."""

    unit: str | None = None
    chunk_chars: int = 1_500
    xpaths: bool = True  # of sections
    defaults: Mapping[str, str] = field(default_factory=lambda: DEFAULTS)

    def of(self, kind: Kind) -> str:
        """The unit that a file of a kind is cut into."""
        return self.unit or self.defaults[kind.name]

    def records(self, path: str, text: str, kind: Kind) -> Iterator[Record]:
        """The records of a text, in order; none if it has no such unit."""
        names: Counter[str] = Counter()
        units = UNITS.get((self.of(kind), kind.name))
        for name, unit in units(text, kind, self) if units else ():
            names[name] += 1
            if names[name] > 1:  # the same name again, in the order of the file
                name = f"{name}~{names[name]}"
            content: str = unit[next(field for field in ("html", "code", "text") if field in unit)]
            yield {
                "id": f"{path}#{name}" if name else path,
                "path": path,
                "language": kind.language,
                "lines": unit["lines"],
                "hash": hashlib.blake2b(content.encode(), digest_size=16).hexdigest(),
                **unit,
            }


def _file(text: str, kind: Kind, units: Units) -> Iterator[Unit]:
    lines = len(text.rstrip().split("\n"))
    yield "", {"lines": [1, lines], FIELDS[kind.name]: text}


def _functions(text: str, kind: Kind, units: Units) -> Iterator[Unit]:
    """The functions of a program in its order, each with its name for an id.

    `code` is as in the file, with decorators and attributes; `docstring` is there if the program
    documents the function, inside it or in a comment before it.
    """
    program = _program(text, kind)
    for definition in program.definitions if program else ():
        if program and definition.kind == "function":
            code = program.data[definition.start : definition.whole.end_byte]
            record: Record = {
                "lines": [definition.row + 1, definition.end_row + 1],
                "name": definition.name,
                "scope": definition.scope,
                "code": code.decode("utf-8", "replace"),
            }
            if docstring := program.doc_comment(definition):
                record["docstring"] = docstring
            yield definition.path, record


def _chunks(text: str, kind: Kind, units: Units) -> Iterator[Unit]:
    program = _program(text, kind)
    lines = text.split("\n")
    root = program.tree.root_node if program else None
    definitions = program.definitions if program else []
    for first, end in cut(lines, root, units.chunk_chars):
        unit: Record = {"lines": [first + 1, end]}
        if program:
            unit["scope"] = _scope(definitions, first)
            unit["names"] = [each.path for each in definitions if first <= each.row < end]
        yield f"L{first + 1}-{end}", {**unit, FIELDS[kind.name]: "\n".join(lines[first:end])}


def _scope(definitions: list[Definition], row: int) -> str:
    """What contains a line, in words, unless the line is its first."""
    around = [each for each in definitions if each.row < row <= each.end_row]
    return ", ".join(each.label for each in (*around[-1].outer, around[-1])) if around else ""


def _pages(text: str, kind: Kind, units: Units) -> Iterator[Unit]:
    yield "", _document(text, kind, units).page()


def _sections(text: str, kind: Kind, units: Units) -> Iterator[Unit]:
    yield from _document(text, kind, units).sections()


def _sentences(text: str, kind: Kind, units: Units) -> Iterator[Unit]:
    plain = kind.name == TEXT
    found = _plain_sentences(text) if plain else _document(text, kind, units).sentences()
    for number, unit in enumerate(found, 1):
        yield f"s{number}", unit


def _document(text: str, kind: Kind, units: Units) -> Page | Note:
    return Page(text, xpaths=units.xpaths) if kind.name == HTML else Note(text)


def _plain_sentences(text: str) -> Iterator[Record]:
    line, at = 1, 0
    for start, end in sentences(text):
        line += text.count("\n", at, start)
        at = start
        last = line + text.count("\n", start, end)
        yield {"lines": [line, last], "text": " ".join(text[start:end].split())}


def _program(text: str, kind: Kind) -> Program | None:
    """The parsed text, if its language has trees."""
    outline = _outline(kind.language) if kind.name == CODE else None
    return outline.parse(text, text.encode("utf-8", "replace")) if outline else None


def load_language(path: str) -> None:
    """Load what a file of that name is parsed with, for this process and those that it forks."""
    with suppress(UserError):  # told where a file is read
        if outline := _outline(kind_of(path, "").language):
            assert not outline.parse("", b"").definitions


@cache
def _outline(language: str) -> Outline | None:
    known = language in plugin_names("language")
    return load("language", language).outline if known else None


UNITS: dict[tuple[str, str], Callable[[str, Kind, Units], Iterator[Unit]]] = {
    **{("file", kind): _file for kind in (CODE, HTML, MARKDOWN, TEXT)},
    **{("chunk", kind): _chunks for kind in (CODE, HTML, MARKDOWN, TEXT)},
    **{("sentence", kind): _sentences for kind in (HTML, MARKDOWN, TEXT)},
    ("function", CODE): _functions,
    **{("page", kind): _pages for kind in (HTML, MARKDOWN)},
    ("page", TEXT): _file,
    **{("section", kind): _sections for kind in (HTML, MARKDOWN)},
}
NAMES = tuple(sorted({unit for unit, _ in UNITS}))
