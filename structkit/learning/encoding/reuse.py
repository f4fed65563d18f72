"""Embeddings of an earlier run, for unchanged texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from structkit.embeddings.matrices import Embeddings, differing, hashes_of, read_matrix, read_meta
from structkit.embeddings.rows import EmbeddingRow
from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError, flag, program
from structkit.learning.encoding.reading import Embedded, ReadRecord
from structkit.learning.encoding.settings import FIELDS
from structkit.progress import say
from structkit.records.jsonl import Record


class Earlier:
    """The rows of NAME.npy by the hash of what was read of their record.

    It has none if `run`, what this run says of itself, has another model or other settings.
    Errors: `UserError` if the file holds no hashes, or those of another run.
    """

    def __init__(self, path: str, run: Record, part: str) -> None:
        self.path, self.part, self.place = path, part, os.path.realpath(path)
        if not path.endswith(".npy"):
            problem = f"{flag('reuse', path)} is not a .npy file"
            raise UserError(problem, f"name what {program('encode')} wrote", status=2)
        self.old = read_matrix(path, fields=bool(part))
        # floats become what this run writes; codes are only what they are
        known = {"quantize": run.get("quantize"), **settings_of(path, self.old)}
        self.differing = differing(run, known)
        self.precision: str | None = None if self.differing else known.get("precision")
        self.rows: dict[str, range] = {} if self.differing else self._rows(known)
        self.records = self.reused = 0

    def _rows(self, meta: Record) -> dict[str, range]:
        """The rows of the first record with each hash."""
        hashes = hashes_of(self.path, len(self.old.ids), meta)
        of_hash: dict[str, range] = {}
        for (hash_, _), rows in groupby(
            range(len(hashes)), lambda row: (hashes[row], self.old.doc_ids[row])
        ):
            numbers = list(rows)
            of_hash.setdefault(hash_, range(numbers[0], numbers[-1] + 1))
        return of_hash

    def completed(
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
                rows += self._copied(record)
                continue
            while next_made < len(made) and _of(made[next_made], record):
                chosen.append(before + next_made)
                rows.append(made[next_made])
                next_made += 1
        return rows, self._vectors(np.array(chosen, np.int64), vectors)

    def _copied(self, record: ReadRecord) -> list[EmbeddingRow]:
        """The rows of an unchanged record, under its own id and with its kept fields."""
        if not self.part:
            return [record.row()]
        # the place of an element may have changed, even if its text has not
        places = record.places or [self._place(row) for row in self.rows[record.hash]]
        numbers = [self.old.ids[row].rpartition("#")[2] for row in self.rows[record.hash]]
        return [record.part(*each) for each in zip(numbers, places, strict=True)]

    def _place(self, row: int) -> Record:
        fields = self.old.fields[row]
        return {name: value for name, value in fields.items() if name in FIELDS[self.part]}

    def _vectors(self, chosen: Any, made: Any) -> Vectors:
        before = len(self.old.ids)
        vectors = np.empty((len(chosen), self.old.dimensions), np.float32)
        vectors[chosen < before] = self.old.vectors[chosen[chosen < before]]
        if len(made):  # texts without parts have no rows
            vectors[chosen >= before] = made[chosen[chosen >= before] - before]
        return vectors

    def report(self) -> None:
        """Say how many records were not encoded again."""
        why = f" (it was encoded with another {', '.join(self.differing)})" * bool(self.differing)
        say(f"{self.reused:,} of {self.records:,} records are as in {self.path}{why}")


def settings_of(path: str, old: Embeddings) -> Record:
    """What NAME.meta.json says of how it was encoded. Errors: it mentions no hashes."""
    beside = path.removesuffix(".npy") + ".meta.json"
    meta = read_meta(beside, *old.vectors.shape) if os.path.exists(beside) else {}
    run = meta.get("run")
    if not isinstance(run, dict) or "hashes" not in run:
        remedy = f"encode once without {flag('reuse')}"
        raise UserError("holds no hashes of its texts", remedy).at(path)
    return {**meta, **run}


def _of(row: EmbeddingRow, record: ReadRecord) -> bool:
    return row.document == record.id and row.hash == record.hash
