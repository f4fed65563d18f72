"""Training records on disk: from a pipe or files, read once, then read again in any order.

Tests: tests/commands/test_train.py.
"""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.reduction import DupFd
from numbers import Real
from typing import Any

import orjson

from structkit.errors import UserError, flag, program
from structkit.records.jsonl import Record, Records, Rejected, accepted, raise_error, text_field

MAKERS = {
    **dict.fromkeys(("masked", "target"), "mask-entities"),
    **dict.fromkeys(("tagged", "untagged"), "html-variants"),
    "tree": "parse-trees",
}

TEXTS = {"texts": "text", "words": "text"}  # lists that methods keep of a text


def remedy_for(field: str) -> str:
    """Return the remedy that adds a field.

    >>> remedy_for("masked")
    'add it with structkit mask-entities'
    """
    return f"add it with {program(MAKERS.get(field, 'pair'))}"


def keep_fields(record: Record, needs: Sequence[str], optional: Sequence[str]) -> Record:
    """Return a record cut down to its id and the fields that a method uses.

    Errors: `UserError` if a needed field is missing, not a string or empty, or if an optional one
    is not a list of strings.
    """
    kept: Record = {"id": record["id"]}
    for name in needs:
        kept[name] = text_field(record, name, remedy_for(name))
        if not kept[name].strip():
            raise UserError(f'field "{name}" is blank', "leave the record out")
    for name in optional:
        if record.get(name) is not None:
            kept[name] = _texts(record[name], name)
    return kept


def _texts(value: object, name: str) -> list[str]:
    if isinstance(value, list) and all(isinstance(text, str) for text in value):
        return value
    raise UserError(f'field "{name}" is not a list of strings', 'write "negatives": ["…", "…"]')


def teacher_scores(record: Record, negatives: int) -> list[float]:
    """Return a record's `scores`: of its positive, then of each negative.

    Errors: they are missing, of another number, or not finite.
    """
    scores = record.get("scores")
    if scores is None:
        raise UserError(
            f'field "scores" is missing, which {flag("distill")} needs',
            f"add it with {program('pair')} {flag('teacher')}",
        )
    wanted = 1 + negatives
    if not isinstance(scores, list) or len(scores) != wanted:
        has = f"{len(scores)} numbers" if isinstance(scores, list) else "no list of numbers"
        problem = f'field "scores" holds {has}, not {wanted} for positive and negatives'
        raise UserError(problem, f"make them again with {program('pair')} {flag('teacher')}")
    for score in scores:
        number = isinstance(score, Real) and not isinstance(score, bool)
        if not number or not math.isfinite(score):
            problem = f'field "scores" holds {score!r:.40}, which is no finite number'
            raise UserError(problem, "leave the record out, or score it again")
    return [float(score) for score in scores]


class Spool:
    """Records in a temporary file that vanishes with the process; memory holds only offsets.

    `spool[i]` is the i-th record, `hash` identifies the content, `source` is the last file,
    `fewest_negatives` is the smallest number of negatives and the id of a record that has no more.
    `prepare` returns the kept fields of a record, with its id, or raises `UserError`; so does an
    empty input, unless `empty`.
    """

    def __init__(
        self,
        records: Records,
        prepare: Callable[[Record], Record],
        reject: Callable[[Rejected], None] | None = None,
        *,
        empty: bool = False,
    ) -> None:
        prefix = "structkit-spool-"
        self._file: Any = tempfile.TemporaryFile("w+b", buffering=1 << 20, prefix=prefix)
        self._offsets = array("Q", [0])
        self.most_negatives = 0
        self._same: Record | None = None  # values that all records share, once there is a record
        self.fewest_negatives: tuple[float, str] = (float("inf"), "")
        digest = hashlib.sha256()
        prepared = accepted(prepare, records, reject or raise_error)
        try:
            for record in prepared:
                line = orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
                self._file.write(line)
                self._offsets.append(self._offsets[-1] + len(line))
                digest.update(line)
                self._count_negatives(record)
                if self._same != {}:
                    self._compare(record)
            self._file.flush()
        except OSError as error:
            raise UserError(
                f"the records cannot be copied to {tempfile.gettempdir()}: {error.strerror}",
                "set TMPDIR to a folder with more space",
            ) from None
        self.hash, self.source = digest.hexdigest(), records.lines.file
        if not len(self) and not empty:
            raise UserError("there are no training records", "name a file that has some").at(
                self.source
            )

    def _count_negatives(self, record: Record) -> None:
        # each variant has the same number of negatives
        name = next((name for name in record if name.startswith("negatives")), "negatives")
        count = len(record.get(name, ()))
        self.most_negatives = max(self.most_negatives, count)
        self.fewest_negatives = min(self.fewest_negatives, (count, record["id"]))

    def _compare(self, record: Record) -> None:
        same = record if self._same is None else self._same
        self._same = {name: value for name, value in same.items() if record.get(name) == value}

    @property
    def same_texts(self) -> list[str]:
        """The fields whose text is the same in all of several records; negatives may be."""
        if len(self) < 2:
            return []
        return [
            TEXTS.get(name, name)
            for name, value in (self._same or {}).items()
            if name != "id" and not name.startswith("negatives")
            if isinstance(value, str) or (isinstance(value, list) and name in TEXTS)
        ]

    def __getstate__(self) -> dict[str, Any]:
        # another process reads the same open file, which has no name
        return self.__dict__ | {"_file": DupFd(self._file.fileno())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state | {"_file": os.fdopen(state["_file"].detach(), "rb")}

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, index: int) -> Record:
        if not 0 <= index < len(self):
            raise IndexError(index)
        start = self._offsets[index]
        # pread shares no file position, so that several readers do not disturb each other
        line = os.pread(self._file.fileno(), self._offsets[index + 1] - start, start)
        record: Record = orjson.loads(line)
        return record

    def __iter__(self) -> Iterator[Record]:
        return map(self.__getitem__, range(len(self)))

    def texts(self, names: Sequence[str], most: int = 100_000) -> Iterator[str]:
        """Yield the texts of some fields, from at most `most` records spread over the whole."""
        step = max(1, -(-len(self) // most))
        for index in range(0, len(self), step):
            record = self[index]
            for name in names:
                value = record.get(name, "")
                yield from value if isinstance(value, list) else [value]
