"""What `encode` reads of records: their texts, kept fields, and what a model prepares."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from structkit.embeddings.rows import EmbeddingRow
from structkit.errors import UserError, missing
from structkit.learning.encode.parts import Elements
from structkit.learning.training.spool import MAKERS, remedy_for
from structkit.plugin import Model
from structkit.records.jsonl import Record, Records, text_field
from structkit.records.texts import HTML, placed, text_name
from structkit.structure.trees.texts import text_or_tree

Read = Callable[[Record, str, str], str]  # what reads a field


@dataclass(frozen=True)
class ReadRecord:
    """The texts of a record, one per field or per element, and its kept fields."""

    id: str
    texts: list[str]
    kept: Record
    here: tuple[str, int]  # file and line
    places: list[Record] = field(default_factory=list)  # the place of each element
    prepared: list[Record] = field(default_factory=list)  # for models of words or trees: each text

    @cached_property
    def hash(self) -> str:
        """The hash of its texts, the first half of a sha256."""
        told = "".join(f"{len(text)} {text}" for text in self.texts)
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def row(self) -> EmbeddingRow:
        """Its row, with its kept fields."""
        return EmbeddingRow(self.id, fields=self.kept, hash=self.hash)

    def part(self, number: int | str, place: Mapping[str, Any]) -> EmbeddingRow:
        """The row of a part, with its place."""
        fields = {**self.kept, **place}
        return EmbeddingRow(f"{self.id}#{number}", self.id, fields, self.hash)

    def __len__(self) -> int:
        """How many elements it has, or one: its share of a window."""
        return len(self.places) or 1


@dataclass(frozen=True)
class TextReader:
    """Records to what is read of them; an unusable one raises while its place is known.

    `asked` are the fields that the user names, `known` the model's, of which the first counts.
    `paths` is that of `placed`.
    """

    model: Model
    asked: Sequence[str]
    known: Sequence[str]
    keep: Sequence[str] = ()
    elements: Elements | None = None
    paths: bool | None = False

    def read(
        self, records: Iterable[Record], source: Records | None = None
    ) -> Iterator[ReadRecord]:
        """What is read of every record; with elements, their texts. `source` knows their lines."""
        source = records if isinstance(records, Records) else source
        for record in records:
            kept = self._kept(record)
            texts = self.texts(record)
            here = source.here if source is not None else ("", 0)
            prepared = self._prepared(texts)
            places: list[Record] = []
            if self.elements:
                texts, places = self.elements.of(texts[0])
            yield ReadRecord(record["id"], texts, kept, here, places, prepared)

    def _kept(self, record: Record) -> Record:
        for name in self.keep:
            if name not in record:
                raise missing(name, record, what=" of --keep")
        return {name: record[name] for name in self.keep}

    def texts(self, record: Record) -> list[str]:
        """The record's texts: of the fields asked for, or of the first one the model knows."""
        hint = "name the text's field with --field"
        if self.elements:
            hint = "--elements takes HTML: name its field with --field"
        known = HTML if self.elements else self.known
        read = text_or_tree if "text" in known else text_field
        if self.asked:
            return [self._text(read, record, name, hint) for name in self.asked]
        maker = remedy_for(known[0]) if len(known) == 1 and known[0] in MAKERS else None
        name = text_name(record, known, f"{maker}; or {hint}" if maker else hint)
        return [self._text(read, record, name, hint)]

    def _text(self, read: Read, record: Record, name: str, hint: str) -> str:
        return placed(read(record, name, hint), record, name, self.paths)

    def _prepared(self, texts: Sequence[str]) -> list[Record]:
        prepared = []
        for name, text in zip(self.asked or ("",), texts, strict=True):
            try:
                prepared.append(self.model.prepared(text))
            except UserError as error:
                where = f'field "{name}": ' if name else ""
                raise UserError(where + error.problem, error.remedy, status=error.status) from None
        return prepared
