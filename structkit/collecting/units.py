"""A text to records: whole files, functions, chunks, pages, sections or sentences."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache

from structkit.collecting.chunks import cut
from structkit.collecting.functions import functions
from structkit.collecting.kinds import CODE, HTML, MARKDOWN, TEXT, Kind, kind_of
from structkit.collecting.notes import Note
from structkit.collecting.pages import Page
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
        for name, unit in UNITS.get((self.of(kind), kind.name), _none)(text, kind, self):
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


def _none(text: str, kind: Kind, units: Units) -> Iterator[Unit]:
    yield from ()


def _file(text: str, kind: Kind, units: Units) -> Iterator[Unit]:
    lines = len(text.rstrip().split("\n"))
    yield "", {"lines": [1, lines], FIELDS[kind.name]: text}


def _functions(text: str, kind: Kind, units: Units) -> Iterator[Unit]:
    if program := _program(text, kind):
        yield from functions(program)


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
    if not around:
        return ""
    return ", ".join(each.label for each in (*around[-1].outer, around[-1]))


def _pages(text: str, kind: Kind, units: Units) -> Iterator[Unit]:
    yield "", Page(text).page() if kind.name == HTML else Note(text).page()


def _sections(text: str, kind: Kind, units: Units) -> Iterator[Unit]:
    yield from (
        Page(text, xpaths=units.xpaths).sections() if kind.name == HTML else Note(text).sections()
    )


def _sentences(text: str, kind: Kind, units: Units) -> Iterator[Unit]:
    if kind.name == TEXT:
        sentences = _plain_sentences(text)
    else:
        sentences = Page(text).sentences() if kind.name == HTML else Note(text).sentences()
    for number, unit in enumerate(sentences, 1):
        yield f"s{number}", unit


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
