"""What is known of an embedding besides its numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

from structkit.errors import UserError
from structkit.records.jsonl import Record


@dataclass(frozen=True)
class EmbeddingRow:
    """The id of an embedding, of a part's also that of its document, and what goes along.

    `hash` is of what was read of its record.
    """

    id: str
    doc_id: str | None = None
    fields: Record = field(default_factory=dict)
    hash: str = ""

    @property
    def document(self) -> str:
        """The id of the document: its own, or that of the document that it is a part of."""
        return self.id if self.doc_id is None else self.doc_id


def id_line(name: str, remedy: str = "change the id") -> str:
    """The line of an id in a file of ids. Errors: an id with a line break."""
    if len(name.splitlines()) > 1 or name != name.strip("\r\n"):
        raise UserError(f"id {name!r} holds a line break", remedy)
    return f"{name}\n"
