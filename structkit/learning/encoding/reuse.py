"""Embeddings of an earlier run, for unchanged texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np

from structkit.embeddings.reading import differing, read_hashes, read_matrix
from structkit.embeddings.vectors import EmbeddingRow, Numbers, Vectors
from structkit.errors import UserError, flag, program
from structkit.learning.encoding.reading import Embedded, ReadRecord
from structkit.learning.encoding.settings import FIELDS
from structkit.progress import say
from structkit.records.jsonl import Record


class EarlierEmbeddings:
    """The rows of NAME.npy by the hash of what was read of their record.

    It has none if `run`, what this run says of itself, has another model or other settings.
    Errors: `UserError` if the file holds no hashes, or those of another run.
    """

    def __init__(self, path: str, run: Record, part: str) -> None:
        self.path, self.part = path, part
        if not path.endswith(".npy"):
            problem = f"{flag('reuse', path)} is not a .npy file"
            raise UserError(problem, f"name what {program('encode')} wrote", status=2)
        self.old = read_matrix(path, fields=bool(part))
        own = self.old.meta.get("run") or {}
        if "hashes" not in own:
            remedy = f"encode once without {flag('reuse')}"
            raise UserError("holds no hashes of its texts", remedy).at(path)
        # floats become what this run writes; codes are only what they are
        known = {"quantize": run.get("quantize"), **self.old.meta, **own}
        self.differing = differing(run, known)
        self.precision: str | None = None if self.differing else known.get("precision")
        self.rows: dict[str, range] = {} if self.differing else self._rows_by_hash()
        self.records = self.reused = 0

    def _rows_by_hash(self) -> dict[str, range]:
        """The rows of the first record with each hash."""
        hashes, doc_ids = read_hashes(self.path, self.old), self.old.doc_ids
        of_hash: dict[str, range] = {}
        for (hash_, _), rows in groupby(
            range(len(hashes)), lambda row: (hashes[row], doc_ids[row])
        ):
            numbers = list(rows)
            of_hash.setdefault(hash_, range(numbers[0], numbers[-1] + 1))
        return of_hash

    def complete(
        self, window: Sequence[ReadRecord], embed: Callable[[Sequence[ReadRecord]], Embedded]
    ) -> Embedded:
        """The rows of some records: known ones, and what `embed` makes of the others."""
        others = [record for record in window if record.hash not in self.rows]
        self.records += len(window)
        self.reused += len(window) - len(others)
        if len(others) == len(window):
            return embed(window)
        made, vectors = embed(others) if others else ([], np.empty(0, np.float32))
        rows: list[EmbeddingRow] = []
        chosen: list[int] = []  # of each row, its place among the old and then the made ones
        next_made, before = 0, len(self.old.ids)
        for record in window:
            if record.hash in self.rows:
                chosen += self.rows[record.hash]
                rows += self._copies(record)
                continue
            while next_made < len(made) and _is_of(made[next_made], record):
                chosen.append(before + next_made)
                rows.append(made[next_made])
                next_made += 1
        return rows, self._vectors(np.array(chosen, np.int64), vectors)

    def _copies(self, record: ReadRecord) -> list[EmbeddingRow]:
        """The rows of an unchanged record, under its own id and with its kept fields."""
        if not self.part:
            return [record.row()]
        copies = []
        for place, row in enumerate(self.rows[record.hash]):
            own = {name: self.old.fields[row].get(name) for name in FIELDS[self.part]}
            # the place of an element may have changed, even if its text has not
            where = record.places[place] if record.places else own
            copies.append(record.part(self.old.ids[row].rpartition("#")[2], where))
        return copies

    def _vectors(self, chosen: Numbers, made: Vectors) -> Vectors:
        old = chosen < len(self.old.ids)
        vectors = np.empty((len(chosen), self.old.dimensions), np.float32)
        vectors[old] = self.old.vectors[chosen[old]]
        if len(made):  # texts without parts have no rows
            vectors[~old] = made[chosen[~old] - len(self.old.ids)]
        return vectors

    def report(self) -> None:
        """Say how many records were not encoded again."""
        why = f" (it was encoded with another {', '.join(self.differing)})" * bool(self.differing)
        say(f"{self.reused:,} of {self.records:,} records are as in {self.path}{why}")


def _is_of(row: EmbeddingRow, record: ReadRecord) -> bool:
    return row.document == record.id and row.hash == record.hash
