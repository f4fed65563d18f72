"""Reading of records for `encode`: texts and their elements, kept fields, in windows.

Tests: tests/commands/test_encode.py.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from structkit.embeddings.vectors import EmbeddingRow, Vectors
from structkit.errors import UserError, flag, missing
from structkit.learning.model import Model
from structkit.learning.training.data import MAKERS, remedy_for
from structkit.records.fields import HTML, add_place, is_tree, text_name
from structkit.records.jsonl import Record, text_field
from structkit.structure.html.reader import Reader
from structkit.structure.html.xpaths import parts, walk
from structkit.structure.trees.brackets import unlabeled

WINDOW = 2048  # records, or elements, held at a time …
TREES = 256  # … or trees: each has many nodes …
CHARACTERS = 1 << 24  # … or fewer, where they are long
EXCERPT = 200  # characters


@dataclass(frozen=True)
class ReadRecord:
    """The texts of a record, one per field or per element, and its kept fields."""

    id: str
    texts: list[str]
    kept: Record
    places: list[Record] = field(default_factory=list)  # the place of each element
    prepared: list[Record] = field(default_factory=list)  # for models of words or trees: each text

    @cached_property
    def hash(self) -> str:
        """The hash of its texts, the first half of a sha256."""
        read = "".join(f"{len(text)} {text}" for text in self.texts)
        return hashlib.sha256(read.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def row(self) -> EmbeddingRow:
        """Return its row, with its kept fields."""
        return EmbeddingRow(self.id, fields=self.kept, hash=self.hash)

    def part(self, number: int | str, place: Mapping[str, Any]) -> EmbeddingRow:
        """Return the row of a part, with its place."""
        fields = {**self.kept, **place}
        return EmbeddingRow(f"{self.id}#{number}", self.id, fields, self.hash)

    def __len__(self) -> int:
        """Return its number of elements, or one: its share of a window."""
        return len(self.places) or 1


class Elements:
    """HTML documents as the texts of their elements, with or without the tags inside."""

    def __init__(self, *, tagged: bool) -> None:
        self.tagged, self._reader = tagged, Reader()

    def of(self, html: str) -> tuple[list[str], list[Record]]:
        """Return each element's text, and its `xpath`, `start`, `end`, and short `text`.

        Errors: a document without text.
        """
        texts, places = [], []
        for part in parts(walk(html)):
            document = self._reader.read(html[part.start : part.end])
            if document.text:
                texts.append(document.tagged if self.tagged else document.text)
                places.append(part._asdict() | {"text": excerpt(document.text)})
        if not texts:
            raise UserError("the document holds no text", "leave the record out")
        return texts, places


def excerpt(text: str) -> str:
    """Return the beginning of a text, for people.

    >>> excerpt("a b"), excerpt("word " * 100)[-10:], len(excerpt("word " * 100))
    ('a b', 'ord word …', 196)
    """
    if len(text) <= EXCERPT:
        return text
    return f"{text[: EXCERPT - 2].rpartition(' ')[0] or text[: EXCERPT - 2]} …"


def lines_of(text: str) -> Callable[[int, int], list[int]]:
    r"""Return a function from characters, `start` and `end`, to the first and last line, from 1.

    White space at either end does not count.

    >>> lines = lines_of("def f():\n    return 1\n\nf()\n")
    >>> lines(0, 8), lines(8, 22), lines(0, 27), lines(23, 24)
    ([1, 1], [2, 2], [1, 4], [4, 4])
    """
    ends = [place for place, sign in enumerate(text) if sign == "\n"]

    def lines(start: int, end: int) -> list[int]:
        piece = text[start:end]
        if piece and not piece.isspace():
            start, end = end - len(piece.lstrip()), start + len(piece.rstrip())
        return [bisect_left(ends, place) + 1 for place in (start, max(start, end - 1))]

    return lines


@dataclass(frozen=True)
class TextReader:
    """Reader of records; an unusable one raises while its place is known.

    `asked` are the fields that the user names, `known` the model's, of which the first counts.
    `paths` is as in `add_place`.
    """

    model: Model
    asked: Sequence[str]
    known: Sequence[str]
    keep: Sequence[str] = ()
    elements: Elements | None = None
    paths: bool | None = False

    def read(self, record: Record) -> ReadRecord:
        """Read a record; with elements, their texts."""
        kept = self._kept(record)
        texts = self.texts(record)
        prepared = self._prepared(texts)
        places: list[Record] = []
        if self.elements:
            texts, places = self.elements.of(texts[0])
        return ReadRecord(record["id"], texts, kept, places, prepared)

    def _kept(self, record: Record) -> Record:
        for name in self.keep:
            if name not in record:
                raise missing(name, record, what=f" of {flag('keep')}")
        return {name: record[name] for name in self.keep}

    def texts(self, record: Record) -> list[str]:
        """Return a record's texts: of the named fields, or of the model's first."""
        hint = f"name the text's field with {flag('field')}"
        if self.elements:
            hint = f"{flag('elements')} takes HTML: name its field with {flag('field')}"
        known, names = HTML if self.elements else self.known, self.asked
        if not names:
            maker = remedy_for(known[0]) if len(known) == 1 and known[0] in MAKERS else None
            names = (text_name(record, known, f"{maker}; or {hint}" if maker else hint),)
        texts = []
        for name in names:
            text = text_field(record, name, hint)
            if is_tree(name) and "text" in known:
                text = unlabeled(text)
            texts.append(add_place(text, record, name, self.paths))
        return texts

    def _prepared(self, texts: Sequence[str]) -> list[Record]:
        prepared = []
        for name, text in zip(self.asked or ("",), texts, strict=True):
            try:
                prepared.append(self.model.prepared(text))
            except UserError as error:
                where = f'field "{name}": ' if name else ""
                raise UserError(where + error.problem, error.remedy, status=error.status) from None
        return prepared


Window = list[ReadRecord]
Embedded = tuple[list[EmbeddingRow], Vectors]  # (rows, dimensions)


def windows(texts: Iterable[ReadRecord], maximum: int) -> Iterator[Window]:
    """Yield records that an encoding has read, in windows that are held in memory."""
    window, rows, characters = Window(), 0, 0
    for record in texts:
        window.append(record)
        rows += len(record)
        characters += sum(map(len, record.texts))
        if rows >= maximum or characters >= CHARACTERS:
            yield window
            window, rows, characters = [], 0, 0
    if window:
        yield window
