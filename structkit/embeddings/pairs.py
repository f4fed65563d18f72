"""Pairs of embeddings with a gold score or label, from `encode --field A --field B`.

Tests: tests/embeddings/test_not_finite.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structkit.embeddings.reading import stack_rows, vector
from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError, flag, program
from structkit.records.jsonl import Record, Records, json_kind

EMBEDDING_FIELD_SUFFIX = "_embedding"


def _remedy() -> str:
    return f"make pairs with {program('encode', field=['text_a', 'text_b'], keep=['score'])}"


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
        """Return some of the pairs, in that order."""
        kept = [self.records[row] for row in rows]
        return EmbeddingPairs(self.left[[*rows]], self.right[[*rows]], kept, self.file)

    def scores(self) -> NDArray[np.float64]:
        """Return the gold scores (pairs,). Errors: a missing or non-finite one."""
        # a silent conversion would hide a mistake: strings are ranked as text elsewhere
        return np.array([self._gold(record, "score", (int, float)) for record in self.records])

    def labels(self) -> list[str]:
        """Return the gold labels (pairs,) as strings: `label`, otherwise `score`.

        Errors: one that is missing, or neither a name nor an integer.
        """
        names = ["label" if "label" in record else "score" for record in self.records]
        kinds = (str, int, bool)
        return [str(self._gold(*each, kinds)) for each in zip(self.records, names, strict=True)]

    def _gold(self, record: Record, name: str, kinds: tuple[type, ...]) -> Any:
        if type(record.get(name)) in kinds:
            return record[name]
        is_ = json_kind(record[name]) if name in record else "missing"
        problem = f'the pair "{record["id"]}": field "{name}" is {is_}'
        form = "a number" if float in kinds else "a name or an integer"
        raise UserError(problem, f"write {form} there, and encode with {flag('keep', [name])}").at(
            self.file
        )


def read_pairs(files: Sequence[str]) -> EmbeddingPairs:
    """Read the pairs of JSONL files: two fields that end in `_embedding`, and the others.

    Errors: a record with fewer or more such fields, vectors of different dimensions, and files
    without records.
    """
    records = Records.read(files)
    names: tuple[str, ...] = ()
    left, right, kept = [], [], list[Record]()
    dimensions = 0
    try:
        for record in records:
            names = names or _embedding_fields(record)
            first = vector(record, names[0], dimensions)
            second = vector(record, names[1], len(first))
            dimensions = len(first)
            left.append(first)
            right.append(second)
            kept.append(
                {name: record[name] for name in record if not name.endswith(EMBEDDING_FIELD_SUFFIX)}
            )
    except UserError as error:
        raise records.place(error) from None
    if not kept:
        raise UserError("there are no pairs", _remedy()).at(records.lines.file)
    return EmbeddingPairs(stack_rows(left), stack_rows(right), kept, records.lines.file)


def _embedding_fields(record: Record) -> tuple[str, ...]:
    names = tuple(name for name in record if name.endswith(EMBEDDING_FIELD_SUFFIX))
    if len(names) != 2:
        found = f" ({', '.join(names)})" if names else ""
        raise UserError(
            f"the record has {len(names)} fields that end in {EMBEDDING_FIELD_SUFFIX}, "
            f"not 2{found}",
            _remedy(),
        )
    return names
