"""What is known of an embedding besides its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError
from structkit.records.jsonl import Record, Records


@dataclass(frozen=True)
class EmbeddingRow:
    """The id of an embedding, for a part also that of its document, and its kept fields.

    `hash` is of what was read from its record.
    """

    id: str
    doc_id: str | None = None
    fields: Record = field(default_factory=dict)
    hash: str = ""

    @property
    def document(self) -> str:
        """The id of the document: its own, or for a part that of the document."""
        return self.id if self.doc_id is None else self.doc_id


class TextEncoding(Protocol):
    """A model that reads records of texts: `Encoding` of learning/encoding, which needs a model."""

    def embedded(
        self, records: Iterable[Record], source: Records | None = None
    ) -> Iterator[tuple[Sequence[EmbeddingRow], Vectors]]:
        """The rows of some records at a time, and their embeddings; `source` knows their lines."""
        ...

    def meta(self) -> Record:
        """Which model it is, and how it encodes."""
        ...


def id_line(name: str, remedy: str = "change the id") -> str:
    """The line of an id in a file of ids. Errors: an id with a line break."""
    if len(name.splitlines()) > 1 or name != name.strip("\r\n"):
        raise UserError(f"id {name!r} holds a line break", remedy)
    return f"{name}\n"
