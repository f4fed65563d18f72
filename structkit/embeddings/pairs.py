"""Pairs of embeddings with a gold score or label: what `encode --field A --field B` writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structkit.embeddings.reading import matrix, vector
from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError, flag, missing, program
from structkit.records.jsonl import Record, Records, json_kind

ENDING = "_embedding"
USUAL = ("text_a_embedding", "text_b_embedding")


def _remedy() -> str:
    sides = f"{flag('field', 'text_a')} {flag('field', 'text_b')}"
    return f"make pairs with {program('encode')} {sides} {flag('keep', 'score')}"


@dataclass(frozen=True)
class EmbeddingPairs:
    """The two sides of pairs, row by row, and their records without embeddings."""

    left: Vectors  # (pairs, dimensions)
    right: Vectors  # (pairs, dimensions)
    records: list[Record]
    file: str

    def __len__(self) -> int:
        return len(self.records)

    def take(self, rows: Sequence[int]) -> EmbeddingPairs:
        """Some of the pairs, in that order."""
        kept = [self.records[row] for row in rows]
        return EmbeddingPairs(self.left[[*rows]], self.right[[*rows]], kept, self.file)

    def scores(self) -> NDArray[np.float64]:
        """The gold scores (pairs,). Errors: a score that is missing or not a finite number."""
        return np.array([self._gold(row, "score", _number) for row in range(len(self))])

    def labels(self) -> list[str]:
        """The gold labels (pairs,) as strings: `label`, or where there is none `score`.

        Errors: one that is missing, or neither a name nor an integer.
        """
        names = ("label" if "label" in record else "score" for record in self.records)
        return [self._gold(row, name, _label) for row, name in enumerate(names)]

    def _gold(self, row: int, name: str, read: Any) -> Any:
        record = self.records[row]
        try:
            if name not in record:
                raise UserError(f'field "{name}" is missing', f"encode with {flag('keep', name)}")
            return read(record[name])
        except UserError as error:
            place = f'the pair "{record["id"]}": '
            raise UserError(place + error.problem, error.remedy).at(self.file) from None


def read_pairs(files: Sequence[str]) -> EmbeddingPairs:
    """The pairs of JSONL files: two fields that end in `_embedding`, and the others.

    Errors: a record with fewer or more such fields (unless two are `text_a_embedding` and
    `text_b_embedding`), vectors of different dimensions, and files without records.
    """
    records = Records.read(files)
    names: tuple[str, ...] = ()
    left, right, kept = [], [], list[Record]()
    dimensions = 0
    try:
        for record in records:
            names = names or _names(record)
            if lost := [name for name in names if name not in record]:
                raise missing(lost[0], record, _remedy())
            first = vector(record, names[0], dimensions)
            second = vector(record, names[1], len(first))
            dimensions = len(first)
            left.append(first)
            right.append(second)
            kept.append({name: record[name] for name in record if not name.endswith(ENDING)})
    except UserError as error:
        raise records.place(error) from None
    if not kept:
        raise UserError("there are no pairs", _remedy()).at(records.lines.file)
    return EmbeddingPairs(matrix(left), matrix(right), kept, records.lines.file)


def _names(record: Record) -> tuple[str, ...]:
    names = tuple(name for name in record if name.endswith(ENDING))
    if set(USUAL) <= set(names):
        return USUAL
    if len(names) != 2:
        found = f" ({', '.join(names)})" if names else ""
        problem = f"the record has {len(names)} fields that end in {ENDING}, not 2{found}"
        raise UserError(problem, _remedy())
    return names


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        # a silent conversion would hide a mistake: strings are ranked as text elsewhere
        raise UserError(
            f'field "score" is {json_kind(value)}, not a number',
            "convert it with jq -c '.score |= tonumber'",
        )
    return float(value)


def _label(value: object) -> str:
    if not isinstance(value, str | int):
        raise UserError(f"the label is {json_kind(value)}", "give a name or an integer")
    return str(value)
